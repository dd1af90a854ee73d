/**
 * Roles in a cluster of a new shape, with as few changes as possible: `shardsToKeep` by the greedy algorithm on a
 * transversal matroid (Edmonds and Fulkerson, 1965; Rado, 1957), `choosePrimaryZones` by bipartite matching along
 * shortest augmenting paths (Berge, 1957), and `assignReplicas` likewise. A minimum-cost assignment is not needed: the
 * slots that move depend only on the shards that continue.
 */
import type { PlacedNode, Shape } from "../topology/placement";
import { distributePrimaries, groupByZone, maxPrimariesInZone } from "../topology/placement";
import { assignReplicas } from "../topology/replica-assignment";
import { type SlotRange, countSlots, SLOT_COUNT } from "../topology/slots";

export interface CurrentNode extends PlacedNode {
  readonly leaving: boolean;
  /** Undefined if the node is a primary. */
  readonly primary: string | undefined;
  readonly slots: readonly SlotRange[];
}

export interface DesiredShard {
  readonly primary: string;
  readonly replicas: readonly string[];
  /** Present primary of the shard's slots; undefined if the shard has no slots yet. */
  readonly previousPrimary: string | undefined;
}

/** An order of names that puts n-2 before n-10. */
const NAMES = new Intl.Collator("en", { numeric: true });

interface PresentShard {
  readonly primary: CurrentNode;
  readonly staying: readonly CurrentNode[];
}

interface FuturePrimary {
  readonly node: CurrentNode;
  readonly previousPrimary: string | undefined;
}

/**
 * Shards that continue come first, with the most slots first, and keep primaries and replicas as far as possible.
 * @param nodes all nodes; as many stay as the shape needs, in zones that allow it (`distributePrimaries`)
 */
export function desiredShards(nodes: readonly CurrentNode[], shape: Shape): DesiredShard[] {
  const staying = nodes.filter(({ leaving }) => !leaving);
  const zones = ZoneCapacity.keepingReplicasApart(staying, shape);
  const primaries = choosePrimaries(nodes, staying, shape, zones);
  const chosen = new Set(primaries.map(({ node }) => node));
  const others = staying.filter((node) => !chosen.has(node));
  const present = new Map(
    primaries.map((primary) => [primary.node.name, presentReplicas(primary, others, shape.replicasPerPrimary)]),
  );
  const assigned = assignReplicas(
    primaries.map(({ node }) => node),
    others,
    shape.replicasPerPrimary,
    present,
  );
  return primaries.map(({ node, previousPrimary }) => ({
    primary: node.name,
    replicas: (assigned.get(node.name) ?? []).map(({ name }) => name),
    previousPrimary,
  }));
}

export interface Failover {
  readonly from: string;
  readonly to: string;
}

/**
 * If the zone with most primaries failed, too few would remain to elect new ones.
 * @param nodes nodes of a cluster that has the shape
 * @returns an empty list if the spread is even, or cannot be made even
 */
export function failbacks(nodes: readonly CurrentNode[], shape: Shape): Failover[] {
  const sizes = new Map([...groupByZone(nodes)].map(([zone, members]) => [zone, members.length]));
  const shares = distributePrimaries(sizes, shape);
  if (shares === undefined) return [];
  const most = Math.max(...shares.values());
  const shards = nodes
    .filter(({ slots }) => slots.length > 0)
    .map((primary): PresentShard => {
      const members = nodes.filter((node) => node === primary || node.primary === primary.name);
      const alone = [...groupByZone(members).values()].flatMap((same) => (same.length === 1 ? same : []));
      return { primary, staying: alone };
    });
  const zoneOf = choosePrimaryZones(shards, new ZoneCapacity(new Map([...sizes.keys()].map((zone) => [zone, most]))));
  if (zoneOf.size < shards.length) return [];
  return [...zoneOf].flatMap(([shard, zone]) => {
    const { name } = primaryInZone(shard, zone);
    return name === shard.primary.name ? [] : [{ from: shard.primary.name, to: name }];
  });
}

function choosePrimaries(
  nodes: readonly CurrentNode[],
  staying: readonly CurrentNode[],
  shape: Shape,
  zones: ZoneCapacity,
): FuturePrimary[] {
  const owners = nodes.filter(({ slots }) => slots.length > 0);
  const shards = owners.map((primary): PresentShard => ({
    primary,
    staying: staying.filter((node) => node === primary || node.primary === primary.name),
  }));
  const zoneOf = choosePrimaryZones(shardsToKeep(shards, shape.primaries, zones), zones);
  const primaries = [...zoneOf].map(([shard, zone]): FuturePrimary => ({
    node: primaryInZone(shard, zone),
    previousPrimary: shard.primary.name,
  }));
  while (primaries.length < shape.primaries) {
    const chosen = new Set(primaries.map(({ node }) => node));
    const node = newPrimary(staying, chosen, nodes, shape, zones);
    zones.add(node.zone);
    primaries.push({ node, previousPrimary: undefined });
  }
  return primaries;
}

class ZoneCapacity {
  readonly #taken = new Map<string, number>();

  constructor(private readonly limits: ReadonlyMap<string, number>) {}

  /** With these limits, every replica can have its primary in a different zone. */
  static keepingReplicasApart(staying: readonly PlacedNode[], shape: Shape): ZoneCapacity {
    return new ZoneCapacity(
      new Map([...groupByZone(staying)].map(([zone, members]) => [zone, maxPrimariesInZone(members.length, shape)])),
    );
  }

  taken(zone: string): number {
    return this.#taken.get(zone) ?? 0;
  }

  hasRoom(zone: string, taken = this.taken(zone)): boolean {
    return taken < (this.limits.get(zone) ?? 0);
  }

  add(zone: string): void {
    this.#taken.set(zone, this.taken(zone) + 1);
  }

  clear(): void {
    this.#taken.clear();
  }
}

/**
 * Greedy, largest first. Differences of less than one slot from an even share are ignored. Among equal shards, those
 * whose primary stays come first, then those in zones with few primaries.
 */
function shardsToKeep(shards: readonly PresentShard[], wanted: number, zones: ZoneCapacity): PresentShard[] {
  const even = SLOT_COUNT / shards.length;
  const weightOf = ({ primary }: PresentShard): number => {
    const slots = countSlots(primary.slots);
    return Math.abs(slots - even) < 1 ? even : slots;
  };
  const candidates = new Set(shards.filter(({ staying }) => staying.length > 0));
  const placed = new Map<PresentShard, string>();
  while (placed.size < wanted && candidates.size > 0) {
    const primariesIn = countEach([...placed.keys()].map(({ primary }) => primary.zone));
    const crowd = ({ primary }: PresentShard): number => primariesIn.get(primary.zone) ?? 0;
    const compare = (a: PresentShard, b: PresentShard): number =>
      weightOf(b) - weightOf(a) ||
      Number(a.primary.leaving) - Number(b.primary.leaving) ||
      crowd(a) - crowd(b) ||
      b.staying.length - a.staying.length ||
      NAMES.compare(a.primary.name, b.primary.name);
    const best = [...candidates].reduce((a, b) => (compare(b, a) < 0 ? b : a));
    candidates.delete(best);
    placeShard(best, placed, zones);
  }
  return [...placed.keys()];
}

/** The present primary's zone if it stays and the zone may have one more primary, else that of a different node. */
function choosePrimaryZones(shards: readonly PresentShard[], zones: ZoneCapacity): Map<PresentShard, string> {
  const placed = new Map<PresentShard, string>();
  for (const shard of shards) {
    const { leaving, zone } = shard.primary;
    if (leaving || !zones.hasRoom(zone)) continue;
    placed.set(shard, zone);
    zones.add(zone);
  }
  zones.clear();
  for (const shard of shards) if (!placed.has(shard)) placeShard(shard, placed, zones);
  for (const zone of placed.values()) zones.add(zone);
  return placed;
}

/** Primaries of other shards may move to other zones. @returns whether a place was found; else nothing has changed */
function placeShard(shard: PresentShard, placed: Map<PresentShard, string>, zones: ZoneCapacity): boolean {
  const counts = countEach(placed.values());
  const taken = (zone: string): number => counts.get(zone) ?? 0;
  const zonesOf = ({ staying }: PresentShard): string[] =>
    [...new Set(staying.map(({ zone }) => zone))].sort((a, b) => taken(a) - taken(b));
  /** For each reached zone: the shard that would move into it, and the zone that this shard would leave. */
  const reached = new Map<string, { mover: PresentShard; from: string | undefined }>();
  for (const zone of zonesOf(shard)) reached.set(zone, { mover: shard, from: undefined });
  // A Map is iterated in the order of insertion, and the iteration includes entries that are added during it. So this
  // is a breadth-first search.
  for (const [zone] of reached) {
    if (zones.hasRoom(zone, taken(zone))) {
      let end: string | undefined = zone;
      while (end !== undefined) {
        const step = reached.get(end);
        if (step !== undefined) placed.set(step.mover, end);
        end = step?.from;
      }
      return true;
    }
    const movers = [...placed].filter(([, at]) => at === zone).map(([mover]) => mover);
    for (const mover of movers) {
      for (const next of zonesOf(mover)) if (!reached.has(next)) reached.set(next, { mover, from: zone });
    }
  }
  return false;
}

/** The present primary if it stays and is in the zone, otherwise the shard's first node there. */
function primaryInZone({ primary, staying }: PresentShard, zone: string): CurrentNode {
  if (!primary.leaving && primary.zone === zone) return primary;
  const [first] = staying.filter((node) => node.zone === zone).sort((a, b) => NAMES.compare(a.name, b.name));
  if (first === undefined) throw new Error(`no node of the shard of ${primary.name} stays in ${zone}`);
  return first;
}

/** Order: a node with replicas, one that follows nobody, a surplus replica, any. Then the emptiest zone. */
function newPrimary(
  staying: readonly CurrentNode[],
  chosen: ReadonlySet<CurrentNode>,
  nodes: readonly CurrentNode[],
  shape: Shape,
  zones: ZoneCapacity,
): CurrentNode {
  const replicaCounts = countEach(nodes.flatMap(({ primary }) => primary ?? []));
  const replicasOf = (name: string): number => replicaCounts.get(name) ?? 0;
  const rank = ({ name, primary }: CurrentNode): number => {
    if (primary === undefined) return replicasOf(name) > 0 ? 0 : 1;
    return replicasOf(primary) > shape.replicasPerPrimary ? 2 : 3;
  };
  const compare = (a: CurrentNode, b: CurrentNode): number =>
    rank(a) - rank(b) || zones.taken(a.zone) - zones.taken(b.zone) || NAMES.compare(a.name, b.name);
  const free = staying.filter((node) => !chosen.has(node) && node.slots.length === 0);
  const [best] = free.filter(({ zone }) => zones.hasRoom(zone)).sort(compare);
  if (best === undefined) throw new Error("the zones have no room for the wanted primaries");
  return best;
}

/** None of them is in the primary's zone. The list begins with one replica of each zone. */
function presentReplicas(
  { node: primary, previousPrimary }: FuturePrimary,
  others: readonly CurrentNode[],
  count: number,
): CurrentNode[] {
  const shard = previousPrimary ?? primary.name;
  const isOfShard = (node: CurrentNode): boolean => node.name === previousPrimary || node.primary === shard;
  const members = others.filter((node) => node.zone !== primary.zone && isOfShard(node));
  const firsts = [...groupByZone(members).values()].flatMap((nodes) => nodes.slice(0, 1));
  return [...firsts, ...members.filter((node) => !firsts.includes(node))].slice(0, count);
}

function countEach(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
