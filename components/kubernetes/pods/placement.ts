/** Scheduling of a pod: zones as a hard constraint, machines as configured. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { Placement } from "../arguments";
import { selectorLabels } from "../names";

const ZONE = "topology.kubernetes.io/zone";
const MACHINE = "kubernetes.io/hostname";

/** Keys of a pod's specification, and of the upstream chart's values. */
export interface Scheduling {
  readonly affinity: types.input.core.v1.Affinity;
  readonly topologySpreadConstraints: types.input.core.v1.TopologySpreadConstraint[];
  readonly nodeSelector: Record<string, string>;
  readonly tolerations: types.input.core.v1.Toleration[];
}

/** @param labels of the pods. @default those of the deployment's servers */
export function scheduling(deployment: string, placement: Placement, labels = selectorLabels(deployment)): Scheduling {
  return {
    affinity: { nodeAffinity: onlyIn(placement.zones), ...machines(labels, placement) },
    topologySpreadConstraints: [
      {
        topologyKey: ZONE,
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
        // Counts zones without a machine: pods wait for a machine there instead of filling the other zones.
        minDomains: placement.zones.length,
        // Ignores zones whose machines these pods may not use; pods would wait for those zones for ever.
        nodeAffinityPolicy: "Honor",
        nodeTaintsPolicy: "Honor",
        labelSelector: { matchLabels: labels },
      },
    ],
    nodeSelector: { ...placement.nodeSelector },
    tolerations: [...(placement.tolerations ?? [])],
  };
}

function onlyIn(zones: readonly string[]): types.input.core.v1.NodeAffinity {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: "In", values: [...zones] }] }],
    },
  };
}

function machines(
  labels: Record<string, string>,
  { hostAntiAffinity, oneMachine = false }: Placement,
): Pick<types.input.core.v1.Affinity, "podAffinity" | "podAntiAffinity"> {
  const term = { topologyKey: MACHINE, labelSelector: { matchLabels: labels } };
  if (oneMachine) return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  switch (hostAntiAffinity) {
    case "required":
      return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    case "preferred":
      return {
        podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] },
      };
    case "none":
      return {};
  }
}
