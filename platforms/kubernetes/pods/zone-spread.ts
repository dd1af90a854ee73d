/** Pods over zones, as the scheduler takes it: keys of a pod's specification. Pure. */
import type { Labels } from "./pods";

const ZONE = "topology.kubernetes.io/zone";

interface ZoneTerm {
  matchExpressions: { key: string; operator: string; values: string[] }[];
}

interface ZoneAffinity {
  requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: ZoneTerm[] };
  preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; preference: ZoneTerm }[];
}

interface ZoneSpread {
  topologyKey: string;
  maxSkew: number;
  whenUnsatisfiable: string;
  minDomains: number;
  nodeAffinityPolicy: string;
  nodeTaintsPolicy: string;
  labelSelector: { matchLabels: Record<string, string> };
}

/**
 * The pods with these labels, evenly over the zones.
 * @param ownMachines whether machines are started for these pods, and for no others
 */
export function zoneSpread(labels: Labels, zones: readonly string[], ownMachines: boolean): ZoneSpread {
  return {
    topologyKey: ZONE,
    maxSkew: 1,
    whenUnsatisfiable: "DoNotSchedule",
    // Counts zones without a machine: pods wait for a machine there instead of filling the other zones.
    minDomains: zones.length,
    // Ignores zones whose machines these pods may not use; pods would wait for those zones for ever.
    nodeAffinityPolicy: "Honor",
    // Machines of their own let the pods in, and a taint means that one is not ready: the pods there still count.
    nodeTaintsPolicy: ownMachines ? "Ignore" : "Honor",
    labelSelector: { matchLabels: { ...labels } },
  };
}

/**
 * Only machines of these zones.
 * @param ownMachines whether machines are started for these pods: then the first zones are preferred for pods that the
 *   zones cannot share evenly, because what starts machines would choose one at random
 */
export function zoneAffinity(zones: readonly string[], ownMachines: boolean): ZoneAffinity {
  const required = { nodeSelectorTerms: [isIn(zones)] };
  if (!ownMachines || zones.length < 2) return { requiredDuringSchedulingIgnoredDuringExecution: required };
  return {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    // The first zone that the spread allows. The last one needs no preference.
    preferredDuringSchedulingIgnoredDuringExecution: zones
      .slice(0, -1)
      .map((zone, index) => ({ weight: zones.length - 1 - index, preference: isIn([zone]) })),
  };
}

function isIn(zones: readonly string[]): ZoneTerm {
  return { matchExpressions: [{ key: ZONE, operator: "In", values: [...zones] }] };
}
