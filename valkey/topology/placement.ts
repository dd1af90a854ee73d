import { groupBy } from "../../lib/group-by";

/** A node and its zone. */
export interface PlacedNode {
  readonly name: string;
  readonly zone: string;
}

/** The number of primaries of a deployment, and the number of replicas of each primary. */
export interface Shape {
  readonly primaries: number;
  readonly replicasPerPrimary: number;
}

/** The number of nodes of a shape. */
export function nodeCount(shape: Shape): number {
  return shape.primaries * (1 + shape.replicasPerPrimary);
}

/**
 * Assigns a zone to each node: node i gets zone i modulo the number of zones. So the numbers of nodes in two zones
 * differ by at most one.
 */
export function spreadOverZones(names: readonly string[], zones: readonly string[]): PlacedNode[] {
  return names.map((name, index) => ({ name, zone: zones[index % zones.length] ?? "" }));
}

/**
 * Zones for the nodes of a new cluster, by rotation. Primary i is in zone i, and its replicas are in the zones after
 * zone i.
 *
 * With at least two zones, every replica is in a different zone than its primary, for every shape. If the zones were
 * filled one after the other, this would not be true for some shapes. An example is three primaries with three replicas
 * each, in two zones of six nodes.
 * @param names names of all nodes, `nodeCount(shape)` in number. The first `shape.primaries` names are for the
 * primaries
 */
export function rotateOverZones(names: readonly string[], shape: Shape, zones: readonly string[]): PlacedNode[] {
  const others = Math.max(1, zones.length - 1);
  return names.map((name, index) => {
    const primary = index % shape.primaries;
    const replica = Math.floor(index / shape.primaries) - 1;
    const turn = replica < 0 ? primary : primary + 1 + (replica % others);
    return { name, zone: zones[turn % zones.length] ?? "" };
  });
}

/** The zone that lacks most against a new cluster of the shape (`rotateOverZones`). @param present zones */
export function placeAddedNodes(
  names: readonly string[],
  present: readonly string[],
  shape: Shape,
  zones: readonly string[],
): PlacedNode[] {
  const lacking = new Map(zones.map((zone) => [zone, 0]));
  const rotation = rotateOverZones(
    Array.from({ length: nodeCount(shape) }, () => ""),
    shape,
    zones,
  );
  for (const { zone } of rotation) lacking.set(zone, (lacking.get(zone) ?? 0) + 1);
  for (const zone of present) lacking.set(zone, (lacking.get(zone) ?? 0) - 1);
  return names.map((name) => {
    const zone = zones.reduce(
      (most, each) => ((lacking.get(each) ?? 0) > (lacking.get(most) ?? 0) ? each : most),
      zones[0] ?? "",
    );
    lacking.set(zone, (lacking.get(zone) ?? 0) - 1);
    return { name, zone };
  });
}

export function groupByZone<T extends { readonly zone: string }>(nodes: readonly T[]): Map<string, T[]> {
  return groupBy(nodes, ({ zone }) => zone);
}

/**
 * Largest number p of primaries in a zone of n = `size` nodes with which every replica can still have its primary in a
 * different zone. Negative if there is none. The n − p replicas of the zone need primaries in other zones: n − p ≤ R ·
 * (P − p), which is the same as (R − 1) · p ≤ R · P − n. For R = 1, p disappears, and n ≤ P remains.
 */
export function maxPrimariesInZone(size: number, { primaries: P, replicasPerPrimary: R }: Shape): number {
  if (R === 0) return size;
  if (R === 1) return size <= P ? size : -1;
  return Math.min(size, Math.floor((R * P - size) / (R - 1)));
}

/** As even as possible, so that every replica can have its primary in a different zone. Else undefined */
export function distributePrimaries(sizes: ReadonlyMap<string, number>, shape: Shape): Map<string, number> | undefined {
  const { primaries: P } = shape;
  const limit = (size: number): number => maxPrimariesInZone(size, shape);
  const shares = new Map([...sizes.keys()].map((zone) => [zone, 0]));
  for (const size of sizes.values()) if (limit(size) < 0) return undefined;
  for (let given = 0; given < P; given++) {
    let best: string | undefined;
    for (const [zone, share] of shares) {
      if (share >= limit(sizes.get(zone) ?? 0)) continue;
      if (best === undefined || share < (shares.get(best) ?? 0)) best = zone;
    }
    if (best === undefined) return undefined;
    shares.set(best, (shares.get(best) ?? 0) + 1);
  }
  return shares;
}
