/** Where nodes go: zones in turn for nodes yet to be made, roles by zone for nodes that are there. */

/** A node and the zone it is in, as far as planning is concerned. */
export interface PlacedNode {
  readonly name: string;
  readonly zone: string;
}

/** How many primaries a deployment has, and how many replicas each of them has. */
export interface Shape {
  readonly primaries: number;
  readonly replicasPerPrimary: number;
}

export function nodeCount(shape: Shape): number {
  return shape.primaries * (1 + shape.replicasPerPrimary);
}

/** Zones in turn: node i is in zone i modulo the number of zones, so zones differ by at most one node. */
export function spreadOverZones(names: readonly string[], zones: readonly string[]): PlacedNode[] {
  return names.map((name, index) => ({ name, zone: zones[index % zones.length] ?? "" }));
}

/**
 * Zones for the nodes of a cluster yet to be made, by rotation: primary i in zone i, its replicas in the
 * zones after. Zone-safe for any shape over two zones or more, which zones filled in turn are not (three
 * primaries with three replicas each do not split into two zones of six).
 * @param names `nodeCount(shape)` of them; the first `shape.primaries` get the primaries' zones
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

/**
 * Zones for nodes that are added to others: for each the zone that lacks most beside the rotation of the
 * wanted shape, so that growing ends where starting anew would have, as far as the nodes there are allow.
 * @param present the zones of the nodes that stay
 */
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

/** Groups by zone, zones in order of first appearance, nodes in given order. */
export function groupByZone<T extends { readonly zone: string }>(nodes: readonly T[]): Map<string, T[]> {
  const zones = new Map<string, T[]>();
  for (const node of nodes) {
    const members = zones.get(node.zone);
    if (members === undefined) zones.set(node.zone, [node]);
    else members.push(node);
  }
  return zones;
}

/**
 * How many primaries a zone with so many nodes may have at most, such that every replica can be paired with a
 * primary of another zone; negative when no number will do.
 *
 * A zone with n nodes, p of them primaries, has n − p replicas, which need primaries elsewhere:
 * n − p ≤ R · (P − p). This bounds p from above for R ≥ 2 and is independent of p for R = 1.
 */
export function maxPrimariesInZone(size: number, { primaries: P, replicasPerPrimary: R }: Shape): number {
  if (R === 0) return size;
  if (R === 1) return size <= P ? size : -1;
  return Math.min(size, Math.floor((R * P - size) / (R - 1)));
}

/**
 * How many primaries each zone gets, as even as the zones' sizes allow, such that every replica can
 * be paired with a primary of another zone.
 * @returns undefined when no such split exists.
 */
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
