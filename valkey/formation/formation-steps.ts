/** What is missing between the nodes there are and the cluster there should be. Pure. */
import type { ClusterPlan, ShardPlan } from "../topology/cluster-plan";
import type { ClusterView, KnownNode } from "../topology/cluster-view";
import type { PlacedNode, Shape } from "../topology/placement";
import { assignReplicas } from "../topology/replica-assignment";
import type { SlotRange } from "../topology/slots";
import { countSlots, formatRanges, SLOT_COUNT, subtractRanges } from "../topology/slots";

/** A node as formation finds it. */
export interface MemberState {
  readonly name: string;
  readonly zone: string;
  readonly view: ClusterView;
  /** DBSIZE */
  readonly keys: number;
}

/** Commands to send, by node name. */
export interface FormationSteps {
  readonly addSlots: readonly { readonly node: string; readonly ranges: readonly SlotRange[] }[];
  readonly setEpoch: readonly { readonly node: string; readonly epoch: number }[];
  /** Whether nodes have yet to be introduced to each other. */
  readonly meet: boolean;
  readonly replicate: readonly { readonly node: string; readonly primary: string }[];
  /** Primaries that get a replica which may have been heard of by an epoch larger than theirs: see `firstEpochs`. */
  readonly bumpEpoch: readonly string[];
}

export type FormationState =
  | { readonly kind: "formed" }
  | { readonly kind: "incomplete"; readonly steps: FormationSteps }
  /** Going on could lose data or break somebody's cluster. */
  | { readonly kind: "blocked"; readonly reasons: readonly string[] };

/**
 * Compares nodes with their plan. A cluster that has the wanted shape is formed, whoever is primary by
 * now: failovers since are none of formation's business. One that was left half-formed is completed as
 * planned, or around the primaries it has when those are as many as wanted.
 */
export function formationState(plan: ClusterPlan, shape: Shape, states: readonly MemberState[]): FormationState {
  const reasons = [...unknownNodes(states), ...conflictingSlots(states)];
  if (reasons.length > 0) return { kind: "blocked", reasons };
  if (isFormed(states, shape)) return { kind: "formed" };

  const target = chooseTarget(plan, shape, states);
  if ("reasons" in target) return { kind: "blocked", reasons: target.reasons };
  const blocked = unfitReplicas(target.shards, states);
  if (blocked.length > 0) return { kind: "blocked", reasons: blocked };
  return { kind: "incomplete", steps: stepsTowards(target.shards, states) };
}

/** A node as it sees itself. */
export function selfEntry({ view }: MemberState): KnownNode {
  const known = view.topology.nodes.get(view.selfId);
  if (known === undefined) throw new Error(`a view without its own node: ${view.selfId}`);
  return known;
}

/**
 * Nodes that somebody knows and that are not part of the deployment; handshakes under way are no members yet.
 * @param isExcused whether what that node knows is known to be nobody's
 */
export function unknownNodes(
  states: readonly MemberState[],
  isExcused: (knower: MemberState, known: KnownNode) => boolean = () => false,
): string[] {
  const ours = new Map(states.map((state) => [state.view.selfId, state.name]));
  const reasons = new Set<string>();
  if (ours.size < states.length) reasons.add("two nodes have the same node id (a copied nodes.conf?)");
  for (const state of states) {
    const { name, view } = state;
    const shaking = new Set(view.unhealthy.filter(({ trouble }) => trouble === "handshake").map(({ id }) => id));
    for (const known of view.topology.nodes.values()) {
      const { id, address } = known;
      if (!ours.has(id) && !shaking.has(id) && !isExcused(state, known))
        reasons.add(
          `${name} knows a node that is not part of this deployment: ${id} at ${address.host}:${address.port}`,
        );
    }
  }
  return [...reasons];
}

/** Slots that two nodes claim to serve: introducing them to each other would drop one's keys. */
export function conflictingSlots(states: readonly MemberState[]): string[] {
  const owners = states.filter((state) => selfEntry(state).slots.length > 0);
  return owners.flatMap((a, index) =>
    owners.slice(index + 1).flatMap((b) => {
      const rest = subtractRanges(selfEntry(a).slots, selfEntry(b).slots);
      if (countSlots(rest) === countSlots(selfEntry(a).slots)) return [];
      return [
        `slots ${formatRanges(subtractRanges(selfEntry(a).slots, rest))} are claimed by both ${a.name} and ${b.name}`,
      ];
    }),
  );
}

function isFormed(states: readonly MemberState[], shape: Shape): boolean {
  const [first] = states;
  if (first === undefined) return false;
  const { topology } = first.view;
  const agreed = states.every(
    ({ view }) => view.topology.fingerprint === topology.fingerprint && view.unhealthy.length === 0,
  );
  if (!agreed || topology.nodes.size !== states.length) return false;
  const nodes = [...topology.nodes.values()];
  const primaries = nodes.filter((node) => node.role === "primary" && node.slots.length > 0);
  return (
    primaries.length === shape.primaries &&
    countSlots(primaries.flatMap((node) => node.slots)) === SLOT_COUNT &&
    primaries.every(({ id }) => nodes.filter((node) => node.primaryId === id).length === shape.replicasPerPrimary)
  );
}

interface Target {
  readonly primary: string;
  readonly replicas: readonly string[];
  readonly slots: readonly SlotRange[];
}

/** The plan where the slots given out so far follow it; else the shards that exist, completed. */
function chooseTarget(
  plan: ClusterPlan,
  shape: Shape,
  states: readonly MemberState[],
): { shards: readonly Target[] } | { reasons: readonly string[] } {
  const planned = new Map(plan.shards.map((shard) => [shard.primary, shard]));
  const owners = states.filter((state) => selfEntry(state).slots.length > 0);
  const astray = owners.flatMap((state) => describeAstray(state, planned.get(state.name), plan));
  const demoted = plan.shards.filter(({ primary }) =>
    states.some((state) => state.name === primary && selfEntry(state).role === "replica"),
  );
  if (astray.length === 0 && demoted.length === 0)
    return { shards: plan.shards.map((shard) => ({ ...shard, slots: [shard.slots] })) };
  if (owners.length === shape.primaries) return { shards: completeShards(owners, states, shape) };
  return { reasons: [...astray, ...demoted.map(({ primary }) => `${primary} is to be a primary but is a replica`)] };
}

function describeAstray(state: MemberState, shard: ShardPlan | undefined, plan: ClusterPlan): string[] {
  const outside = subtractRanges(selfEntry(state).slots, shard === undefined ? [] : [shard.slots]);
  if (outside.length === 0) return [];
  const owner = plan.shards.find(
    ({ slots }) => slots.from <= (outside[0]?.from ?? 0) && (outside[0]?.from ?? 0) <= slots.to,
  );
  return [`${state.name} serves slots ${formatRanges(outside)}, which the plan gives to ${owner?.primary ?? "nobody"}`];
}

/** Around the primaries there are: replicas stay where they are, free nodes fill up, unserved slots go to the smallest. */
function completeShards(owners: readonly MemberState[], states: readonly MemberState[], shape: Shape): Target[] {
  const unserved = subtractRanges(
    [{ from: 0, to: SLOT_COUNT - 1 }],
    owners.flatMap((owner) => selfEntry(owner).slots),
  );
  const smallest = [...owners].sort((a, b) => countSlots(selfEntry(a).slots) - countSlots(selfEntry(b).slots))[0];
  const following = (owner: MemberState): MemberState[] =>
    states.filter((state) => selfEntry(state).primaryId === owner.view.selfId).slice(0, shape.replicasPerPrimary);
  const kept = new Map(owners.map((owner) => [owner.name, following(owner)]));
  const settled = new Set([...owners, ...[...kept.values()].flat()]);
  const places = owners.flatMap((owner): PlacedNode[] => {
    const open = shape.replicasPerPrimary - (kept.get(owner.name)?.length ?? 0);
    return Array.from({ length: open }, (_, place) => ({ name: `${owner.name}/${place}`, zone: owner.zone }));
  });
  const assigned = assignReplicas(
    places,
    states.filter((state) => !settled.has(state)),
    1,
  );
  return owners.map((owner) => ({
    primary: owner.name,
    slots: [...selfEntry(owner).slots, ...(owner === smallest ? unserved : [])],
    replicas: [
      ...(kept.get(owner.name) ?? []).map(({ name }) => name),
      ...places
        .filter(({ name }) => name.startsWith(`${owner.name}/`))
        .flatMap(({ name }) => (assigned.get(name) ?? []).map((replica) => replica.name)),
    ],
  }));
}

/** A node becomes a replica only when it has nothing to lose. */
function unfitReplicas(shards: readonly Target[], states: readonly MemberState[]): string[] {
  const byName = new Map(states.map((state) => [state.name, state]));
  return shards.flatMap(({ primary, replicas }) =>
    replicas.flatMap((name) => {
      const state = byName.get(name);
      if (state === undefined || selfEntry(state).role === "replica" || state.keys === 0) return [];
      return [`${name} is to become a replica of ${primary} but holds ${state.keys} keys of its own`];
    }),
  );
}

function stepsTowards(shards: readonly Target[], states: readonly MemberState[]): FormationSteps {
  const byName = new Map(states.map((state) => [state.name, state]));
  const stateOf = (name: string): MemberState => {
    const state = byName.get(name);
    if (state === undefined) throw new Error(`the plan names ${name}, which is not there`);
    return state;
  };
  const replicate = shards.flatMap(({ primary, replicas }) =>
    replicas
      .filter((replica) => selfEntry(stateOf(replica)).primaryId !== stateOf(primary).view.selfId)
      .map((replica) => ({ node: replica, primary })),
  );
  const met = (name: string): boolean => stateOf(name).view.topology.nodes.size > 1;
  return {
    addSlots: shards.flatMap(({ primary, slots }) => {
      const ranges = subtractRanges(slots, selfEntry(stateOf(primary)).slots);
      return ranges.length === 0 ? [] : [{ node: primary, ranges }];
    }),
    setEpoch: firstEpochs(shards).filter(({ node }) => !met(node) && selfEntry(stateOf(node)).epoch === 0),
    meet: states.some(({ view }) => states.some((other) => !view.topology.nodes.has(other.view.selfId))),
    replicate,
    bumpEpoch: [
      ...new Set(replicate.filter(({ node, primary }) => met(node) || met(primary)).map(({ primary }) => primary)),
    ],
  };
}

/**
 * A different epoch for every node, all replicas' before all primaries'. Nodes that meet with the same epoch
 * settle that by taking ever larger ones; and to a node which heard of a replica-to-be by an epoch larger than
 * that of its primary, everything the replica says later is stale news, so that the two never agree. (The server
 * takes a first epoch only while it knows nobody.)
 */
function firstEpochs(shards: readonly Target[]): { node: string; epoch: number }[] {
  const order = [...shards.flatMap(({ replicas }) => replicas), ...shards.map(({ primary }) => primary)];
  return order.map((node, index) => ({ node, epoch: index + 1 }));
}
