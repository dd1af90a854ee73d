/** Scheduling of a pod: zones as a hard constraint, machines as configured. */
import type { types } from "@pulumi/kubernetes";
import { zoneAffinity, zoneSpread } from "../../../platforms/kubernetes/pods/zone-spread";
import type { Placement } from "../arguments";
import { selectorLabels } from "../names";

const MACHINE = "kubernetes.io/hostname";

interface Scheduling {
  readonly affinity: types.input.core.v1.Affinity;
  readonly topologySpreadConstraints: types.input.core.v1.TopologySpreadConstraint[];
  readonly nodeSelector: Record<string, string>;
  readonly tolerations: types.input.core.v1.Toleration[];
}

/** @param labels labels of the pods. @default the labels of the servers */
export function scheduling(deployment: string, placement: Placement, labels = selectorLabels(deployment)): Scheduling {
  const { zones, ownMachines = false } = placement;
  return {
    affinity: { nodeAffinity: zoneAffinity(zones, ownMachines), ...machines(labels, placement) },
    topologySpreadConstraints: [zoneSpread(labels, zones, ownMachines)],
    nodeSelector: { ...placement.nodeSelector },
    tolerations: [...(placement.tolerations ?? [])],
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
