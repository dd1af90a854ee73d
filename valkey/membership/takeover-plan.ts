/**
 * Chooses replicas that take over from lost primaries of shards that cannot elect one: the majority of primaries is
 * lost, or the only replica has restarted and is never elected.
 */
import { formatRanges, subtractRanges, type SlotRange } from "../topology/slots";
import { type MemberState, selfEntry } from "./member-state";

export interface CandidateState extends MemberState {
  /** Replication offset: bytes of the primary's stream that the node has processed. */
  readonly offset: number;
  /** Offsets can be compared only within one replication ID. */
  readonly replicationId: string;
  /** Whether the node is loading its data or copying its primary's data. Its data set is not complete. */
  readonly isIncomplete: boolean;
}

export interface Takeover {
  readonly replica: string;
  readonly offset: number;
  readonly primary: string;
  readonly primaryId: string;
  readonly slots: readonly SlotRange[];
}

export interface TakeoverPlan {
  /** A primary without a known host name has its node ID here. */
  readonly lost: readonly string[];
  readonly takeovers: readonly Takeover[];
  /** Reasons why a shard whose primary does not reply gets no new primary, one sentence each. */
  readonly refusals: readonly string[];
  /** First takeovers without votes (CLUSTER FAILOVER TAKEOVER), until the primaries that reply are a majority. */
  readonly withoutVotes: number;
}

interface LostPrimary {
  readonly id: string;
  /** Name of the node; undefined if no node knows the host name of the primary. */
  readonly name: string | undefined;
  readonly slots: readonly SlotRange[];
}

/** @param stopped names of nodes whose servers certainly do not run */
export function planTakeovers(states: readonly CandidateState[], stopped: ReadonlySet<string>): TakeoverPlan {
  const lost = lostPrimaries(states);
  const owners = states.filter((state) => selfEntry(state).slots.length > 0).length;
  const majority = Math.floor((owners + lost.length) / 2) + 1;
  const silent = lost.filter(({ name }) => name === undefined || !stopped.has(name));
  // Primaries that this process cannot reach may still reach each other, and may elect replicas at this moment.
  if (owners < majority && owners + silent.length >= majority) {
    const reason = `${silent.map(nameOf).join(", ")} may still run; together with other primaries they could be a majority and elect replicas`;
    return { lost: lost.map(nameOf), takeovers: [], refusals: [reason], withoutVotes: 0 };
  }
  const decisions = lost.map((primary) => decideShard(primary, states, stopped));
  return {
    lost: lost.map(nameOf),
    takeovers: decisions.flatMap((each) => (typeof each === "string" ? [] : [each])),
    refusals: decisions.flatMap((each) => (typeof each === "string" ? [each] : [])),
    withoutVotes: Math.max(0, majority - owners),
  };
}

const nameOf = ({ name, id }: LostPrimary): string => name ?? id;

/** Slots that a replying node serves do not count: others may not have learned yet that a replica took them over. */
function lostPrimaries(states: readonly CandidateState[]): LostPrimary[] {
  const present = new Set(states.map(({ view }) => view.selfId));
  const served = states.flatMap((state) => selfEntry(state).slots);
  const found = new Map<string, LostPrimary & { readonly epoch: number }>();
  for (const { view } of states)
    for (const { id, slots, epoch, address } of view.topology.nodes.values()) {
      const left = subtractRanges(slots, served);
      if (present.has(id) || left.length === 0 || epoch < (found.get(id)?.epoch ?? 0)) continue;
      const name = address.hostname?.split(".", 1)[0] ?? found.get(id)?.name;
      found.set(id, { id, name, slots: left, epoch });
    }
  return [...found.values()];
}

/** @returns the takeover, or the reason why no replica takes over */
function decideShard(
  { id, name, slots }: LostPrimary,
  states: readonly CandidateState[],
  stopped: ReadonlySet<string>,
): Takeover | string {
  const shard = `slots ${formatRanges(slots)}`;
  if (name === undefined) return `${shard}: no node knows the host name of the primary ${id}`;
  if (!stopped.has(name)) return `${shard}: the server of ${name} may still run`;
  const reaching = states.filter(
    ({ view }) => view.topology.nodes.has(id) && !view.unhealthy.some((each) => each.id === id),
  );
  if (reaching[0] !== undefined) return `${shard}: ${reaching[0].name} still reaches ${name}`;
  const silent = silentReplicas(id, states).filter((each) => each === undefined || !stopped.has(each));
  if (silent.length > 0)
    return `${shard}: the replica ${silent[0] ?? "without a host name"} does not reply, and it may have newer data`;
  const replicas = states.filter((state) => selfEntry(state).primaryId === id);
  const incomplete = replicas.find(({ isIncomplete }) => isIncomplete);
  if (incomplete !== undefined) return `${shard}: ${incomplete.name} is still loading its data`;
  // A replica without data that has no primary reports the offset 1.
  const filled = replicas.filter(({ keys, offset }) => keys > 0 || offset > 1);
  const [best] = filled.sort((a, b) => b.offset - a.offset || b.keys - a.keys);
  if (best === undefined) return `${shard}: no replica of ${name} has data`;
  if (filled.some(({ replicationId }) => replicationId !== best.replicationId))
    return `${shard}: it is not known which replica of ${name} has the newest data`;
  return { replica: best.name, offset: best.offset, primary: name, primaryId: id, slots };
}

/** Names of a primary's replicas that do not reply; undefined for a replica whose host name no node knows. */
function silentReplicas(primaryId: string, states: readonly CandidateState[]): (string | undefined)[] {
  const present = new Set(states.map(({ view }) => view.selfId));
  const known = new Map(
    states.flatMap(({ view }) =>
      [...view.topology.nodes.values()]
        .filter((each) => each.primaryId === primaryId && !present.has(each.id))
        .map(({ id, address }) => [id, address.hostname?.split(".", 1)[0]] as const),
    ),
  );
  return [...known.values()];
}
