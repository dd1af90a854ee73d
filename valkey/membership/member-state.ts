/** State of each node of a cluster, as it reports itself, and reasons not to change the cluster. */
import type { ClusterView, KnownNode } from "../topology/cluster-view";
import { countSlots, formatRanges, subtractRanges, normaliseRanges, SLOT_COUNT } from "../topology/slots";

export interface MemberState {
  readonly name: string;
  readonly zone: string;
  readonly view: ClusterView;
  readonly keys: number;
}

export function selfEntry({ view }: MemberState): KnownNode {
  const known = view.topology.nodes.get(view.selfId);
  if (known === undefined) throw new Error(`CLUSTER NODES of node ${view.selfId} does not list this node`);
  return known;
}

/** Nodes in handshake do not count: they are not part of any cluster yet. @param isExcused for old IDs of own nodes */
export function unknownNodes(
  states: readonly MemberState[],
  isExcused: (knower: MemberState, known: KnownNode) => boolean = () => false,
): string[] {
  const memberIds = new Set(states.map(({ view }) => view.selfId));
  const reasons = new Set<string>();
  if (memberIds.size < states.length) reasons.add("two nodes have the same node ID (a copied nodes.conf?)");
  for (const state of states) {
    const handshakes = new Set(state.view.unhealthy.filter(({ flag }) => flag === "handshake").map(({ id }) => id));
    for (const known of state.view.topology.nodes.values()) {
      const { id, address } = known;
      if (memberIds.has(id) || handshakes.has(id) || isExcused(state, known)) continue;
      const where = `${id} at ${address.host}:${address.port}`;
      reasons.add(`${state.name} knows a node that is not part of this deployment: ${where}`);
    }
  }
  return [...reasons];
}

/** If the two nodes met, one of the two nodes would delete its keys in these slots. */
export function conflictingSlots(states: readonly MemberState[]): string[] {
  const claims = states.map((state) => ({ name: state.name, slots: selfEntry(state).slots }));
  const owners = claims.filter(({ slots }) => slots.length > 0);
  return owners.flatMap((a, index) =>
    owners.slice(index + 1).flatMap((b) => {
      const onlyA = subtractRanges(a.slots, b.slots);
      if (countSlots(onlyA) === countSlots(a.slots)) return [];
      const both = subtractRanges(a.slots, onlyA);
      return [`slots ${formatRanges(both)} are claimed by both ${a.name} and ${b.name}`];
    }),
  );
}

/** At least one node sees that all slots are served, and all primaries with slots know each other. */
export function servesAllSlots(states: readonly MemberState[]): boolean {
  const owners = states.filter(hasSlots);
  if (!owners.every((a) => owners.every((b) => knows(a, b)))) return false;
  return states.some(({ view }) => {
    const served = [...view.topology.nodes.values()].flatMap(({ slots }) => slots);
    return countSlots(normaliseRanges(served)) === SLOT_COUNT;
  });
}

/** Such a node knows all primaries with slots, and all these primaries know the node. */
export function participants(states: readonly MemberState[]): MemberState[] {
  const owners = states.filter(hasSlots);
  return states.filter((state) => owners.every((owner) => knows(state, owner) && knows(owner, state)));
}

export function isAlone(state: MemberState, states: readonly MemberState[]): boolean {
  return state.view.topology.nodes.size === 1 && states.every((other) => other === state || !knows(other, state));
}

/** If this is true, no other node has the only copy of a key. */
export function ownAllSlots(states: readonly MemberState[]): boolean {
  return countSlots(normaliseRanges(states.flatMap((state) => selfEntry(state).slots))) === SLOT_COUNT;
}

export function hasSlots(state: MemberState): boolean {
  return selfEntry(state).slots.length > 0;
}

export function knows({ view }: MemberState, other: MemberState): boolean {
  return view.topology.nodes.has(other.view.selfId);
}
