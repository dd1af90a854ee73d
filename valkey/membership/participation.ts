import { countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";
import { type MemberState, selfEntry } from "./member-state";

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
