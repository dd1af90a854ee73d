/** Finds nodes that lost their data and came back empty with a new ID, while others may know the former one. */
import type { ClusterView } from "../topology/cluster-view";
import { type MemberState, selfEntry, hasSlots, isAlone, participants } from "./member-state";

const NONE: ReadonlySet<string> = new Set();

/**
 * An ID without slots and replicas that all who know it mark as failed. If there are more such IDs than empty nodes,
 * one may be that of a node that still comes back with its data: the result then has only IDs of `absent` nodes.
 * @param absent names of nodes that are to leave and do not run
 */
export function lostIdentities(
  states: readonly MemberState[],
  leaving: ReadonlySet<string>,
  absent: ReadonlySet<string> = NONE,
): string[] {
  const ids = new Set(states.map(({ view }) => view.selfId));
  const taking = participants(states);
  const unknownIds = new Set(
    taking.flatMap(({ view }) => [...view.topology.nodes.keys()].filter((id) => !ids.has(id))),
  );
  const lost = [...unknownIds].filter(
    (id) => taking.every(({ view }) => isGone(view, id)) && states.every((state) => selfEntry(state).primaryId !== id),
  );
  const empty = states.filter((state) => isIdle(state) && !leaving.has(state.name));
  const forGood = lost.filter((id) => hostNames(taking, id).some((name) => absent.has(name)));
  const others = lost.filter((id) => !forGood.includes(id));
  return others.length <= empty.length ? lost : forGood;
}

/** Names of pods: the first labels of the host names that nodes know for this ID. */
function hostNames(states: readonly MemberState[], id: string): string[] {
  return states.flatMap(({ view }) => view.topology.nodes.get(id)?.address.hostname?.split(".", 1) ?? []);
}

/** Whether a node is a primary without slots and without keys. */
function isIdle(state: MemberState): boolean {
  return selfEntry(state).role === "primary" && !hasSlots(state) && state.keys === 0;
}

/** Whether a view of the cluster lacks a node, or shows the node as failed and without slots. */
function isGone({ topology, unhealthy }: ClusterView, id: string): boolean {
  const known = topology.nodes.get(id);
  if (known === undefined) return true;
  return known.slots.length === 0 && unhealthy.some((each) => each.id === id && each.flag !== "handshake");
}

/** Its former ID is still known, or it has already met some nodes. */
export function returnedEmpty(states: readonly MemberState[]): string[] {
  const present = new Set(states.map(({ view }) => view.selfId));
  const known = states.flatMap(({ view }) => [...view.topology.nodes.values()]);
  const former = new Set(
    known.filter(({ id }) => !present.has(id)).map(({ address: { hostname = "" } }) => hostname.split(".", 1)[0]),
  );
  const returned = states.filter((state) => isIdle(state) && (former.has(state.name) || !isAlone(state, states)));
  return returned.map(({ name }) => name);
}
