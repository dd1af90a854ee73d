import type { Labels } from "./running-pods";

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

/** @param ownMachines whether an autoscaler starts machines for these pods only */
export function zoneSpread(labels: Labels, zones: readonly string[], ownMachines: boolean): ZoneSpread {
  return {
    topologyKey: ZONE,
    maxSkew: 1,
    whenUnsatisfiable: "DoNotSchedule",
    // Zones without a machine also count. So pods wait for a machine in such a zone instead of filling the other zones.
    minDomains: zones.length,
    // Zones whose machines these pods may not use do not count. Otherwise pods would wait for those zones forever.
    nodeAffinityPolicy: "Honor",
    // The pods tolerate the taint of their own machines. Any other taint means that a machine is not ready, and the
    // pods there must still count.
    nodeTaintsPolicy: ownMachines ? "Ignore" : "Honor",
    labelSelector: { matchLabels: { ...labels } },
  };
}

/**
 * @param ownMachines an autoscaler starts machines for these pods only: surplus pods then prefer the first zones, or
 * the autoscaler would choose random ones
 */
export function zoneAffinity(zones: readonly string[], ownMachines: boolean): ZoneAffinity {
  const required = { nodeSelectorTerms: [isIn(zones)] };
  if (!ownMachines || zones.length < 2) return { requiredDuringSchedulingIgnoredDuringExecution: required };
  return {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    // Earlier zones have higher weights. The last zone needs no preference.
    preferredDuringSchedulingIgnoredDuringExecution: zones
      .slice(0, -1)
      .map((zone, index) => ({ weight: zones.length - 1 - index, preference: isIn([zone]) })),
  };
}

function isIn(zones: readonly string[]): ZoneTerm {
  return { matchExpressions: [{ key: ZONE, operator: "In", values: [...zones] }] };
}
