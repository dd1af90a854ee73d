/**
 * Facts for a resize, derived from the nodes' views of the cluster: which nodes take part, which nodes have joined only
 * in part, and why the resize is blocked. Pure.
 */
import type { MemberState } from "../membership/member-state";
import { selfEntry, unknownNodes } from "../membership/member-state";
import type { ClusterView, KnownNode } from "../topology/cluster-view";
import { countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";
import type { MemoryUse } from "./memory-use";
import type { ResizeNode } from "./resize-plan";

/**
 * Whether the nodes already form a cluster. This is true if at least one node sees that all slots are served, and all
 * primaries with slots know each other.
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

/**
 * The nodes that take part in the cluster. Such a node knows all primaries with slots, and all these primaries know the
 * node.
 */
export function participants(states: readonly MemberState[]): MemberState[] {
  const owners = states.filter(hasSlots);
  return states.filter((state) => owners.every((owner) => knows(state, owner) && knows(owner, state)));
}

/**
 * Nodes without slots that must be reset before a resize, because an earlier resize was interrupted while these nodes
 * joined or left the cluster. For each such node, one of these conditions is true:
 *
 * - Some nodes of the cluster know the node and some do not, or the node knows nodes that do not know it.
 * - The node remembers a second node of this list by the node ID that the second node had before its reset.
 * - The node is a replica of a node in this list. A replica cannot forget its primary.
 *
 * A replica that stays and has keys is not in the list. If some nodes forgot this replica, these nodes accept it again
 * after a minute.
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

/** Former IDs of nodes that nodes without slots still remember. A node gets a new ID when it is reset. */
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
 * Former IDs of nodes that lost their data and came back empty with new IDs.
 *
 * No present node has such an ID, and such an ID has no slots and no replicas. All nodes that know the ID mark it as
 * failed. The number of empty nodes must be at least the number of such IDs. Nodes that leave and do not run are not
 * counted, because such nodes do not come back.
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

/** First labels of the host names by which nodes know a given ID. These labels are names of pods. */
function hostNames(states: readonly MemberState[], id: string): string[] {
  return states.flatMap(({ view }) => view.topology.nodes.get(id)?.address.hostname?.split(".", 1) ?? []);
}

/** Whether a node is an empty primary without slots. */
function isIdle(state: MemberState): boolean {
  return selfEntry(state).role === "primary" && !hasSlots(state) && state.keys === 0;
}

/** Whether a view of the cluster lacks a node, or shows the node as failed and without slots. */
function isGone({ topology, unhealthy }: ClusterView, id: string): boolean {
  const known = topology.nodes.get(id);
  if (known === undefined) return true;
  return known.slots.length === 0 && unhealthy.some((each) => each.id === id && each.flag !== "handshake");
}

/**
 * Names of nodes that came back without their data and have not completed their return. For such a node, one of two
 * conditions is true. Either the cluster knows the host of the node only with its former node ID, or the node has
 * already met some other nodes. The first label of the host is the name of the node.
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

/** Whether the given nodes together serve every slot. If this is true, no other node has the only copy of a key. */
export function ownAllSlots(states: readonly MemberState[]): boolean {
  return countSlots(normaliseRanges(states.flatMap((state) => selfEntry(state).slots))) === SLOT_COUNT;
}

/** The reasons why the cluster must not be changed. */
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
 * Whether an entry in a node's view is a former ID of a different node, which was reset. The node with this view has no
 * slots.
 *
 * Such an entry remains if a resize is killed after the reset of the first of two nodes that leave, because the second
 * node still remembers the first node. The entry has no slots, and has the address of one of the nodes. After the reset
 * node has replied with its new ID, the entry has no address. The entry counts as a former ID if the node with this
 * view knows a primary of this cluster.
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
