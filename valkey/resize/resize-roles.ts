/** Who is to be primary and who follows whom in a cluster of another shape, with as little changed as can be. Pure. */
import type { PlacedNode, Shape } from "../topology/placement";
import { groupByZone, maxPrimariesInZone } from "../topology/placement";
import { assignReplicas } from "../topology/replica-assignment";
import type { SlotRange } from "../topology/slots";
import { countSlots, SLOT_COUNT } from "../topology/slots";

/** A node of a cluster that is to be resized. */
export interface CurrentNode extends PlacedNode {
  /** Whether it is no part of the wanted cluster. */
  readonly leaving: boolean;
  /** The name of the primary it follows; undefined for a primary. */
  readonly primary: string | undefined;
  readonly slots: readonly SlotRange[];
}

export interface DesiredShard {
  readonly primary: string;
  readonly replicas: readonly string[];
  /** The present primary whose slots the shard goes on with, which need not stay primary; undefined for a shard yet without slots. */
  readonly previousPrimary: string | undefined;
}

/** n-2 before n-10. */
const NAMES = new Intl.Collator("en", { numeric: true });

/** A present primary with slots, and those of its nodes that stay. */
interface PresentShard {
  readonly primary: CurrentNode;
  readonly staying: readonly CurrentNode[];
}

/**
 * The shards of the wanted shape. Present shards go on where one of their nodes stays: those with most slots, for
 * theirs would have to move, under its present primary where that stays and zones allow it. Zones have no more
 * primaries than lets every replica be in another zone than its primary. New shards are led by nodes without slots.
 * Replicas stay where they are as far as they may.
 * @param nodes of which exactly as many stay as the shape needs, over zones that allow it (`sharePrimaries`)
 */
export function desiredShards(nodes: readonly CurrentNode[], shape: Shape): DesiredShard[] {
  const staying = nodes.filter(({ leaving }) => !leaving);
  const zones = new ZoneLimits(staying, shape);
  const shards = nodes
    .filter(({ slots }) => slots.length > 0)
    .map((primary): PresentShard => ({
      primary,
      staying: staying.filter((node) => node === primary || node.primary === primary.name),
    }));
  const continued = continuedShards(shards, shape.primaries, zones);
  const leaders: { leader: CurrentNode; continues: string | undefined }[] = [...chooseLeaders(continued, zones)].map(
    ([shard, zone]) => ({ leader: leaderIn(shard, zone), continues: shard.primary.name }),
  );
  while (leaders.length < shape.primaries) {
    const leader = newLeader(staying, new Set(leaders.map((each) => each.leader)), nodes, shape, zones);
    zones.add(leader.zone);
    leaders.push({ leader, continues: undefined });
  }
  const isLeader = new Set(leaders.map(({ leader }) => leader));
  const others = staying.filter((node) => !isLeader.has(node));
  const present = new Map(
    leaders.map(({ leader, continues }) => [leader.name, presentReplicas(leader, continues, others, shape)]),
  );
  const assigned = assignReplicas(
    leaders.map(({ leader }) => leader),
    others,
    shape.replicasPerPrimary,
    present,
  );
  return leaders.map(({ leader, continues }) => ({
    primary: leader.name,
    replicas: (assigned.get(leader.name) ?? []).map(({ name }) => name),
    previousPrimary: continues,
  }));
}

/** How many more primaries each zone may have. */
class ZoneLimits {
  readonly #limits: ReadonlyMap<string, number>;
  readonly #taken = new Map<string, number>();

  constructor(staying: readonly PlacedNode[], shape: Shape) {
    this.#limits = new Map(
      [...groupByZone(staying)].map(([zone, members]) => [zone, maxPrimariesInZone(members.length, shape)]),
    );
  }

  taken(zone: string): number {
    return this.#taken.get(zone) ?? 0;
  }

  hasRoom(zone: string, taken = this.taken(zone)): boolean {
    return taken < (this.#limits.get(zone) ?? 0);
  }

  add(zone: string): void {
    this.#taken.set(zone, this.taken(zone) + 1);
  }

  clear(): void {
    this.#taken.clear();
  }
}

/**
 * As many slots as possible stay with their shards: the shards with most first, each if zones can be found for all
 * (the sets of shards that can be so placed form a matroid, so that greed is right). Counts that differ as even
 * shares do are the same; then primaries that stay, and zones with fewest primaries, come first.
 */
function continuedShards(shards: readonly PresentShard[], wanted: number, zones: ZoneLimits): PresentShard[] {
  const even = SLOT_COUNT / shards.length;
  const worth = ({ primary }: PresentShard): number =>
    Math.abs(countSlots(primary.slots) - even) < 1 ? even : countSlots(primary.slots);
  const left = new Map(shards.filter(({ staying }) => staying.length > 0).map((shard) => [shard, worth(shard)]));
  const placed = new Map<PresentShard, string>();
  while (placed.size < wanted && left.size > 0) {
    const crowds = countEach([...placed.keys()].map(({ primary }) => primary.zone));
    const crowd = (zone: string): number => crowds.get(zone) ?? 0;
    const [best] = [...left].reduce((a, b) => (before(b, a, crowd) ? b : a));
    left.delete(best);
    placeShard(best, placed, zones);
  }
  return [...placed.keys()];
}

function before(
  [a, worthA]: readonly [PresentShard, number],
  [b, worthB]: readonly [PresentShard, number],
  crowd: (zone: string) => number,
): boolean {
  const order =
    worthB - worthA ||
    Number(a.primary.leaving) - Number(b.primary.leaving) ||
    crowd(a.primary.zone) - crowd(b.primary.zone) ||
    b.staying.length - a.staying.length ||
    NAMES.compare(a.primary.name, b.primary.name);
  return order < 0;
}

/** A zone for the primary of each shard: that of the present primary where it may be, else of another node that stays. */
function chooseLeaders(shards: readonly PresentShard[], zones: ZoneLimits): Map<PresentShard, string> {
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

/**
 * Places a shard's primary in a zone, along the shortest path on which others change theirs to make room.
 * @returns false, with nothing changed, when there is none
 */
function placeShard(shard: PresentShard, placed: Map<PresentShard, string>, zones: ZoneLimits): boolean {
  const counts = countEach(placed.values());
  const taken = (zone: string): number => counts.get(zone) ?? 0;
  const options = ({ staying }: PresentShard): string[] =>
    [...new Set(staying.map(({ zone }) => zone))].sort((a, b) => taken(a) - taken(b));
  const reached = new Map(
    options(shard).map((zone) => [zone, { mover: shard, from: undefined as string | undefined }]),
  );
  for (const [zone] of reached) {
    if (zones.hasRoom(zone, taken(zone))) {
      for (let at: string | undefined = zone; at !== undefined;) {
        const step = reached.get(at);
        if (step !== undefined) placed.set(step.mover, at);
        at = step?.from;
      }
      return true;
    }
    for (const [mover] of [...placed].filter(([, at]) => at === zone)) {
      for (const next of options(mover)) if (!reached.has(next)) reached.set(next, { mover, from: zone });
    }
  }
  return false;
}

function leaderIn({ primary, staying }: PresentShard, zone: string): CurrentNode {
  const leader =
    !primary.leaving && primary.zone === zone
      ? primary
      : staying.filter((node) => node.zone === zone).sort((a, b) => NAMES.compare(a.name, b.name))[0];
  if (leader === undefined) throw new Error(`no node of ${primary.name}'s shard stays in ${zone}`);
  return leader;
}

/** Of the nodes without slots: one that others follow already, one that follows nobody, a replica that can be spared, any; in the zone with fewest primaries. */
function newLeader(
  staying: readonly CurrentNode[],
  leaders: ReadonlySet<CurrentNode>,
  nodes: readonly CurrentNode[],
  shape: Shape,
  zones: ZoneLimits,
): CurrentNode {
  const counts = countEach(nodes.flatMap(({ primary }) => primary ?? []));
  const followers = (name: string): number => counts.get(name) ?? 0;
  const rank = ({ name, primary }: CurrentNode): number => {
    if (primary === undefined) return followers(name) > 0 ? 0 : 1;
    return followers(primary) > shape.replicasPerPrimary ? 2 : 3;
  };
  const candidates = staying.filter(
    (node) => !leaders.has(node) && node.slots.length === 0 && zones.hasRoom(node.zone),
  );
  const [best] = candidates.sort(
    (a, b) => rank(a) - rank(b) || zones.taken(a.zone) - zones.taken(b.zone) || NAMES.compare(a.name, b.name),
  );
  if (best === undefined) throw new Error("the zones have no room for the primaries wanted");
  return best;
}

/** The replicas a leader has and may keep, those in zones of their own first. */
function presentReplicas(
  leader: CurrentNode,
  continues: string | undefined,
  others: readonly CurrentNode[],
  shape: Shape,
): CurrentNode[] {
  const shard = continues ?? leader.name;
  const members = others.filter(
    (node) => node.zone !== leader.zone && (node.name === continues || node.primary === shard),
  );
  const firsts = members.filter((node, index) => members.findIndex(({ zone }) => zone === node.zone) === index);
  return [...firsts, ...members.filter((node) => !firsts.includes(node))].slice(0, shape.replicasPerPrimary);
}

function countEach(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
