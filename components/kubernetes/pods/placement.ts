/** The scheduling part of a pod: zones hard, machines as asked. Pure. */
import type { types } from "@pulumi/kubernetes";
import type { Placement } from "../arguments";
import { selectorLabels } from "../names";

const ZONE = "topology.kubernetes.io/zone";
const MACHINE = "kubernetes.io/hostname";

/** In the names of a pod's specification, which are also those of the upstream chart's values. */
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
        // Zones without a machine count too: pods then wait for one instead of crowding into the others.
        minDomains: placement.zones.length,
        // A zone whose machines these pods may not use has none, and would leave nowhere to go.
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
