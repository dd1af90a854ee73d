/**
 * The state of each node of a cluster that is formed or resized, as the node itself reports it, and reasons not to
 * change the cluster. Pure.
 */
import type { ClusterView, KnownNode } from "../topology/cluster-view";
import { countSlots, formatRanges, subtractRanges } from "../topology/slots";

/** One node's name, zone, view of the cluster, and number of keys. */
export interface MemberState {
  readonly name: string;
  readonly zone: string;
  readonly view: ClusterView;
  /** Number of keys in all databases. */
  readonly keys: number;
}

/** The node's entry for itself in its own view. */
export function selfEntry({ view }: MemberState): KnownNode {
  const known = view.topology.nodes.get(view.selfId);
  if (known === undefined) throw new Error(`a view without its own node: ${view.selfId}`);
  return known;
}

/**
 * Nodes that members know but that do not belong to the deployment, each as a reason not to change the cluster. Nodes
 * in handshake do not count, because they are not part of any cluster yet.
 * @param isExcused whether an entry is an old identity of a member
 */
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

/** Slots that two nodes claim, as reasons. If the two nodes met, one of them would delete its keys. */
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
