import type { ClusterPlan, ShardPlan } from "../topology/cluster-plan";
import type { PlacedNode, Shape } from "../topology/placement";
import { assignReplicas } from "../topology/replica-assignment";
import { type SlotRange, countSlots, formatRanges, SLOT_COUNT, subtractRanges } from "../topology/slots";
import { type MemberState, conflictingSlots, selfEntry, unknownNodes } from "../membership/member-state";

export interface FormationSteps {
  readonly addSlots: readonly { readonly node: string; readonly ranges: readonly SlotRange[] }[];
  readonly setEpoch: readonly { readonly node: string; readonly epoch: number }[];
  readonly meet: boolean;
  readonly replicate: readonly { readonly node: string; readonly primary: string }[];
  /** Primaries that must increase their epoch: some nodes can know their new replica with a higher one. */
  readonly bumpEpoch: readonly string[];
}

export type FormationState =
  | { readonly kind: "formed" }
  | { readonly kind: "incomplete"; readonly steps: FormationSteps }
  /** Formation must stop, because further steps could lose keys or damage a different cluster. */
  | { readonly kind: "blocked"; readonly reasons: readonly string[] };

/** Failovers may have moved roles: any cluster of the wanted shape counts as formed, and present primaries stay. */
export function formationState(plan: ClusterPlan, shape: Shape, states: readonly MemberState[]): FormationState {
  const reasons = [...unknownNodes(states), ...conflictingSlots(states)];
  if (reasons.length > 0) return { kind: "blocked", reasons };
  if (isFormed(states, shape)) return { kind: "formed" };

  const target = chooseTarget(plan, shape, states);
  if ("reasons" in target) return { kind: "blocked", reasons: target.reasons };
  const unfit = replicasWithKeys(target.shards, states);
  if (unfit.length > 0) return { kind: "blocked", reasons: unfit };
  return { kind: "incomplete", steps: stepsTowards(target.shards, states) };
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

interface TargetShard {
  readonly primary: string;
  readonly replicas: readonly string[];
  readonly slots: readonly SlotRange[];
}

/** The planned shards if the nodes' slots agree with the plan, otherwise the existing ones, completed. */
function chooseTarget(
  plan: ClusterPlan,
  shape: Shape,
  states: readonly MemberState[],
): { shards: readonly TargetShard[] } | { reasons: readonly string[] } {
  const planned = new Map(plan.shards.map((shard) => [shard.primary, shard]));
  const owners = states.filter((state) => selfEntry(state).slots.length > 0);
  const misplaced = owners.flatMap((state) => misplacedSlots(state, planned.get(state.name), plan));
  const demoted = plan.shards.filter(({ primary }) =>
    states.some((state) => state.name === primary && selfEntry(state).role === "replica"),
  );
  if (misplaced.length === 0 && demoted.length === 0) {
    return { shards: plan.shards.map((shard) => ({ ...shard, slots: [shard.slots] })) };
  }
  if (owners.length === shape.primaries) return { shards: completeShards(owners, states, shape) };
  const replicas = demoted.map(({ primary }) => `${primary} is a replica, but the plan makes it a primary`);
  return { reasons: [...misplaced, ...replicas] };
}

function misplacedSlots(state: MemberState, shard: ShardPlan | undefined, plan: ClusterPlan): string[] {
  const outside = subtractRanges(selfEntry(state).slots, shard === undefined ? [] : [shard.slots]);
  const [first] = outside;
  if (first === undefined) return [];
  const owner = plan.shards.find(({ slots }) => slots.from <= first.from && first.from <= slots.to);
  return [
    `${state.name} serves slots ${formatRanges(outside)}, but the plan gives them to ${owner?.primary ?? "no node"}`,
  ];
}

/** Replicas keep their primary. The primary with the fewest slots gets the unassigned slots. */
function completeShards(owners: readonly MemberState[], states: readonly MemberState[], shape: Shape): TargetShard[] {
  const slotsOf = (owner: MemberState): readonly SlotRange[] => selfEntry(owner).slots;
  const unassigned = subtractRanges([{ from: 0, to: SLOT_COUNT - 1 }], owners.flatMap(slotsOf));
  const smallest = [...owners].sort((a, b) => countSlots(slotsOf(a)) - countSlots(slotsOf(b)))[0];
  const replicasOf = (owner: MemberState): MemberState[] =>
    states.filter((state) => selfEntry(state).primaryId === owner.view.selfId).slice(0, shape.replicasPerPrimary);
  const kept = new Map(owners.map((owner) => [owner.name, replicasOf(owner)]));
  const withRole = new Set([...owners, ...[...kept.values()].flat()]);
  const free = states.filter((state) => !withRole.has(state));
  // Each missing replica is passed to `assignReplicas` as a primary that needs one replica.
  const places = owners.flatMap((owner): PlacedNode[] => {
    const open = shape.replicasPerPrimary - (kept.get(owner.name)?.length ?? 0);
    return Array.from({ length: open }, (_, place) => ({ name: `${owner.name}/${place}`, zone: owner.zone }));
  });
  const assigned = assignReplicas(places, free, 1);
  const newReplicasOf = (owner: MemberState): string[] =>
    places
      .filter(({ name }) => name.startsWith(`${owner.name}/`))
      .flatMap(({ name }) => (assigned.get(name) ?? []).map((replica) => replica.name));
  return owners.map((owner) => ({
    primary: owner.name,
    slots: [...slotsOf(owner), ...(owner === smallest ? unassigned : [])],
    replicas: [...(kept.get(owner.name) ?? []).map(({ name }) => name), ...newReplicasOf(owner)],
  }));
}

/** Reasons that block the formation: nodes that have keys and would lose these keys by becoming replicas. */
function replicasWithKeys(shards: readonly TargetShard[], states: readonly MemberState[]): string[] {
  const byName = new Map(states.map((state) => [state.name, state]));
  return shards.flatMap(({ primary, replicas }) =>
    replicas.flatMap((name) => {
      const state = byName.get(name);
      if (state === undefined || selfEntry(state).role === "replica" || state.keys === 0) return [];
      return [
        `${name} cannot become a replica of ${primary}, because ${name} would lose the ${state.keys} keys that it holds`,
      ];
    }),
  );
}

function stepsTowards(shards: readonly TargetShard[], states: readonly MemberState[]): FormationSteps {
  const byName = new Map(states.map((state) => [state.name, state]));
  const stateOf = (name: string): MemberState => {
    const state = byName.get(name);
    if (state === undefined) throw new Error(`the plan names ${name}, which is not a member`);
    return state;
  };
  const replicate = shards.flatMap(({ primary, replicas }) =>
    replicas
      .filter((replica) => selfEntry(stateOf(replica)).primaryId !== stateOf(primary).view.selfId)
      .map((replica) => ({ node: replica, primary })),
  );
  const met = (name: string): boolean => stateOf(name).view.topology.nodes.size > 1;
  const haveMet = replicate.filter(({ node, primary }) => met(node) || met(primary));
  return {
    addSlots: shards.flatMap(({ primary, slots }) => {
      const ranges = subtractRanges(slots, selfEntry(stateOf(primary)).slots);
      return ranges.length === 0 ? [] : [{ node: primary, ranges }];
    }),
    setEpoch: firstEpochs(shards).filter(({ node }) => !met(node) && selfEntry(stateOf(node)).epoch === 0),
    meet: states.some(({ view }) => states.some((other) => !view.topology.nodes.has(other.view.selfId))),
    replicate,
    bumpEpoch: [...new Set(haveMet.map(({ primary }) => primary))],
  };
}

/**
 * An epoch for every node, all different: nodes with equal epochs would raise them until the collision ends. Replicas
 * get lower epochs than primaries: a node that knows a replica with a higher epoch than its primary ignores later
 * announcements of the replica for ever. A server accepts its first epoch only while it knows no other node.
 */
function firstEpochs(shards: readonly TargetShard[]): { node: string; epoch: number }[] {
  const order = [...shards.flatMap(({ replicas }) => replicas), ...shards.map(({ primary }) => primary)];
  return order.map((node, index) => ({ node, epoch: index + 1 }));
}
