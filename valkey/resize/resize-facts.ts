/**
 * Facts that a resize derives from the views of the nodes: which nodes take part, which nodes have joined only in part,
 * and what blocks the resize. Pure.
 */
import type { MemberState } from "../membership/member-state";
import { selfEntry, unknownNodes } from "../membership/member-state";
import type { ClusterView, KnownNode } from "../topology/cluster-view";
import { countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";
import type { MemoryUse } from "./memory-use";
import type { ResizeNode } from "./resize-plan";

/**
 * Whether the nodes already form a cluster: at least one node sees all slots served, and all primaries with slots know
 * each other.
 */
export function servesAllSlots(states: readonly MemberState[]): boolean {
  const owners = states.filter(hasSlots);
  if (!owners.every((a) => owners.every((b) => knows(a, b)))) return false;
  return states.some(({ view }) => {
    const served = [...view.topology.nodes.values()].flatMap(({ slots }) => slots);
    return countSlots(normaliseRanges(served)) === SLOT_COUNT;
  });
}

function knows({ view }: MemberState, other: MemberState): boolean {
  return view.topology.nodes.has(other.view.selfId);
}

function hasSlots(state: MemberState): boolean {
  return selfEntry(state).slots.length > 0;
}

/** The nodes that know all primaries with slots and that all these primaries know. */
export function participants(states: readonly MemberState[]): MemberState[] {
  const owners = states.filter(hasSlots);
  return states.filter((state) => owners.every((owner) => knows(state, owner) && knows(owner, state)));
}

/**
 * Nodes without slots that must be reset first, because their joining or leaving was interrupted. For each of them, one
 * of these conditions is true:
 *
 * - Some members know the node and others do not, or the node knows members that do not know it.
 * - The node remembers another of these nodes by the node ID that the other node had before its reset.
 * - The node is a replica of such a node. A replica cannot forget its primary.
 *
 * A staying replica that has keys is not in the list, because members that were told to forget it accept it again after
 * a minute.
 */
export function halfJoinedNodes(states: readonly MemberState[], leaving: ReadonlySet<string>): string[] {
  const taking = new Set(participants(states));
  const mayBeReset = (state: MemberState): boolean => leaving.has(state.name) || state.keys === 0;
  const isPartlyKnown = (state: MemberState): boolean => !taking.has(state) && !isAlone(state, states);
  const remembersFormerId = (state: MemberState): boolean =>
    [...state.view.topology.nodes.values()].some((known) => isFormerIdentity(states, state, known));
  const halfJoined = states
    .filter((state) => !hasSlots(state))
    .filter((state) => (isPartlyKnown(state) && mayBeReset(state)) || remembersFormerId(state));
  const ids = new Set(halfJoined.map(({ view }) => view.selfId));
  const replicas = states.filter((state) => ids.has(selfEntry(state).primaryId ?? ""));
  return [...new Set([...halfJoined, ...replicas].map(({ name }) => name))];
}

/** Node IDs that members without slots remember, and that other nodes had before a reset. */
export function formerIdentities(states: readonly MemberState[]): string[] {
  const found = states.flatMap((state) =>
    [...state.view.topology.nodes.values()].filter((known) => isFormerIdentity(states, state, known)),
  );
  return [...new Set(found.map(({ id }) => id))];
}

/** Whether a node knows no other node and is unknown to all other nodes. */
function isAlone(state: MemberState, states: readonly MemberState[]): boolean {
  return state.view.topology.nodes.size === 1 && states.every((other) => other === state || !knows(other, state));
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Old node IDs of members that lost their data and came back empty under new IDs.
 *
 * An old ID belongs to no present node, serves no slots, has no replicas, and is marked as failed by all members that
 * know it. There must be at least as many empty nodes as old IDs. Leaving nodes that do not run do not come back, so
 * they are not counted.
 * @param absent names of leaving nodes that do not run
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

/** First labels of the host names under which members know a node. They are names of pods. */
function hostNames(states: readonly MemberState[], id: string): string[] {
  return states.flatMap(({ view }) => view.topology.nodes.get(id)?.address.hostname?.split(".", 1) ?? []);
}

/** Whether a node is an empty primary without slots. */
function isIdle(state: MemberState): boolean {
  return selfEntry(state).role === "primary" && !hasSlots(state) && state.keys === 0;
}

/** Whether a view does not contain a node, or shows it as failed and without slots. */
function isGone({ topology, unhealthy }: ClusterView, id: string): boolean {
  const known = topology.nodes.get(id);
  if (known === undefined) return true;
  return known.slots.length === 0 && unhealthy.some((each) => each.id === id && each.flag !== "handshake");
}

/**
 * Names of nodes that came back without their data and have not completed their return. Such a node is in one of two
 * states: members know its host only under its former node ID, or the node has already met some members. The first
 * label of the host is the name of the node.
 */
export function returnedEmpty(states: readonly MemberState[]): string[] {
  const present = new Set(states.map(({ view }) => view.selfId));
  const known = states.flatMap(({ view }) => [...view.topology.nodes.values()]);
  const former = new Set(
    known.filter(({ id }) => !present.has(id)).map(({ address: { hostname = "" } }) => hostname.split(".", 1)[0]),
  );
  const returned = states.filter((state) => isIdle(state) && (former.has(state.name) || !isAlone(state, states)));
  return returned.map(({ name }) => name);
}

/** Whether these nodes together serve every slot. If they do, no other node has the only copy of a key. */
export function ownAllSlots(states: readonly MemberState[]): boolean {
  return countSlots(normaliseRanges(states.flatMap((state) => selfEntry(state).slots))) === SLOT_COUNT;
}

/** The reasons why the cluster must not be changed at all. */
export function resizeBlockers(
  states: readonly MemberState[],
  leaving: ReadonlySet<string>,
  absent: ReadonlySet<string> = NONE,
): string[] {
  const lost = new Set(lostIdentities(states, leaving, absent));
  const taking = new Set(participants(states));
  const outside = states.filter((state) => !taking.has(state));
  const isJoiningPrimary = (state: MemberState): boolean =>
    !leaving.has(state.name) && !hasSlots(state) && selfEntry(state).role === "primary";
  const strayPrimaries = outside.filter(hasSlots);
  const withKeys = outside.filter((state) => isJoiningPrimary(state) && state.keys > 0);
  return [
    ...unknownNodes(states, (knower, known) => lost.has(known.id) || isFormerIdentity(states, knower, known)),
    ...strayPrimaries.map(
      ({ name }) => `${name} serves slots, but ${name} and at least one other primary do not know each other`,
    ),
    ...withKeys.map(({ name, keys }) => `${name} cannot join, because it would lose the ${keys} keys that it holds`),
  ];
}

/**
 * Whether an entry in the view of a node without slots is an old identity of a different node, from before a reset.
 *
 * This happens when a resize is killed after it has reset one of two leaving nodes, because the second node still
 * remembers the first. The entry has no slots and the address of one of the nodes. After the reset node has replied
 * under its new node ID, the entry has no address. Such an entry counts as an old identity if the node with this view
 * knows a primary of this cluster.
 */
function isFormerIdentity(
  states: readonly MemberState[],
  knower: MemberState,
  { id, slots, address: { host, port } }: KnownNode,
): boolean {
  if (hasSlots(knower) || slots.length > 0 || states.some(({ view }) => view.selfId === id)) return false;
  if (knower.view.unhealthy.some((each) => each.id === id && each.flag === "handshake")) return false;
  if (host === "") return states.some((state) => hasSlots(state) && knows(knower, state));
  return states.some((state) => selfEntry(state).address.host === host && selfEntry(state).address.port === port);
}

/** The nodes in the form that `planResize` needs. */
export function resizeNodes(
  states: readonly MemberState[],
  leaving: ReadonlySet<string>,
  memory: ReadonlyMap<string, MemoryUse>,
): ResizeNode[] {
  const taking = new Set(participants(states));
  const nameOf = new Map(states.map(({ name, view }) => [view.selfId, name]));
  return states.map((state): ResizeNode => {
    const { slots, primaryId } = selfEntry(state);
    const { keys = 0, used = 0, limit = 0 } = memory.get(state.name) ?? {};
    const met = leaving.has(state.name) ? !isAlone(state, states) : taking.has(state);
    return {
      name: state.name,
      zone: state.zone,
      leaving: leaving.has(state.name),
      met,
      primary: nameOf.get(primaryId ?? ""),
      slots,
      keyBytes: keys,
      usedMemory: used,
      maxmemory: limit,
    };
  });
}
