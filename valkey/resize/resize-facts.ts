/** Facts from the nodes' views: which nodes have joined only in part, and why the resize is blocked. */
import {
  type MemberState,
  selfEntry,
  unknownNodes,
  hasSlots,
  isAlone,
  knows,
  participants,
} from "../membership/member-state";
import { lostIdentities } from "../membership/returned-empty";
import type { KnownNode } from "../topology/cluster-view";
import type { MemoryUse } from "./memory-use";
import type { ResizeNode } from "./resize-plan";

/**
 * Nodes without slots that must be reset, because an earlier resize was interrupted while they joined or left:
 * - Some nodes of the cluster know the node and some do not, or it knows nodes that do not know it.
 * - It still remembers a different node by the ID before its reset.
 * - It is a replica of a node in this list: a replica cannot forget its primary. Not a replica that stays and has keys:
 * nodes that forgot it accept it again after a minute.
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

/** A node gets a new ID when it is reset. */
export function formerIdentities(states: readonly MemberState[]): string[] {
  const found = states.flatMap((state) =>
    [...state.view.topology.nodes.values()].filter((known) => isFormerIdentity(states, state, known)),
  );
  return [...new Set(found.map(({ id }) => id))];
}

export function resizeBlockers(
  states: readonly MemberState[],
  leaving: ReadonlySet<string>,
  absent?: ReadonlySet<string>,
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
 * An ID that a different node had before its reset, which a killed resize leaves in the view of a second leaving node.
 * Neither has slots, and the entry has the address of one of the nodes, or none after the reset node has replied: then
 * it counts if the knower knows a primary of this cluster.
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
