/** What a resize makes of what the nodes say: who takes part, what stands in the way, which moves are open. Pure. */
import type { ResizeNode } from "./resize-plan";
import type { KnownNode } from "../topology/cluster-view";
import { countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";
import type { MemberState } from "../formation/formation-steps";
import { selfEntry, unknownNodes } from "../formation/formation-steps";

/** Bytes. */
export interface MemoryUse {
  /** What the keys take, all told. */
  readonly keys: number;
  readonly used: number;
  /** 0 is no limit. */
  readonly limit: number;
}

/** Whether this is a cluster already: somebody sees all slots served. */
export function servesAllSlots(states: readonly MemberState[]): boolean {
  const owners = states.filter(serves);
  if (!owners.every((a) => owners.every((b) => knows(a, b)))) return false;
  return states.some(
    ({ view }) =>
      countSlots(normaliseRanges([...view.topology.nodes.values()].flatMap(({ slots }) => slots))) === SLOT_COUNT,
  );
}

function knows({ view }: MemberState, other: MemberState): boolean {
  return view.topology.nodes.has(other.view.selfId);
}

function serves(state: MemberState): boolean {
  return selfEntry(state).slots.length > 0;
}

/** The nodes that every primary with slots knows, and that know all of those. */
export function participants(states: readonly MemberState[]): MemberState[] {
  const owners = states.filter(serves);
  return states.filter((state) => owners.every((owner) => knows(state, owner) && knows(owner, state)));
}

/**
 * Nodes without slots that have to be reset before anything else: their leaving or joining was interrupted, so that some know
 * them and some do not, or that they alone remember the others; or they remember one of these from before its reset.
 * A replica that is to stay keeps its data where it can: those that were told to forget it listen to it again after a minute.
 */
export function halfJoinedNodes(states: readonly MemberState[], leaving: ReadonlySet<string>): string[] {
  const part = new Set(participants(states));
  const isTorn = (state: MemberState): boolean =>
    !part.has(state) && !isAlone(state, states) && (leaving.has(state.name) || state.keys === 0);
  const remembers = (state: MemberState): boolean =>
    [...state.view.topology.nodes.values()].some((known) => isFormerSelf(states, state, known));
  const apart = states.filter((state) => !serves(state) && (isTorn(state) || remembers(state)));
  // A replica cannot forget its primary: it goes with it.
  const ids = new Set(apart.map(({ view }) => view.selfId));
  const followers = states.filter((state) => ids.has(selfEntry(state).primaryId ?? ""));
  return [...new Set([...apart, ...followers].map(({ name }) => name))];
}

function isAlone(state: MemberState, states: readonly MemberState[]): boolean {
  return state.view.topology.nodes.size === 1 && states.every((other) => other === state || !knows(other, state));
}

/** Why no move may be made at all. */
export function resizeBlockers(states: readonly MemberState[], leaving: ReadonlySet<string>): string[] {
  const part = new Set(participants(states));
  const outside = states.filter((state) => !part.has(state));
  return [
    ...unknownNodes(states, (knower, known) => isFormerSelf(states, knower, known)),
    ...outside
      .filter(serves)
      .map(({ name }) => `${name} serves slots and does not know all other primaries, or is not known to them`),
    ...outside
      .filter(
        (state) => !leaving.has(state.name) && !serves(state) && selfEntry(state).role === "primary" && state.keys > 0,
      )
      .map(({ name, keys }) => `${name} is to join but holds ${keys} keys of its own`),
  ];
}

/**
 * Whether what a node without slots knows is another as it was before its reset: of two that were to leave, the first had
 * forgotten all when the run was killed, and the second had not. It has no slots, and the address of a node that is here; or, once
 * that one has answered under its new id, none, which counts of a node that knows this cluster's primaries.
 */
function isFormerSelf(
  states: readonly MemberState[],
  knower: MemberState,
  { id, slots, address: { host, port } }: KnownNode,
): boolean {
  if (serves(knower) || slots.length > 0 || states.some(({ view }) => view.selfId === id)) return false;
  if (knower.view.unhealthy.some((each) => each.id === id && each.trouble === "handshake")) return false;
  if (host === "") return states.some((state) => serves(state) && knows(knower, state));
  return states.some((state) => selfEntry(state).address.host === host && selfEntry(state).address.port === port);
}

/** The nodes as the plan wants to know them. */
export function resizeNodes(
  states: readonly MemberState[],
  leaving: ReadonlySet<string>,
  memory: ReadonlyMap<string, MemoryUse>,
): ResizeNode[] {
  const part = new Set(participants(states));
  const nameOf = new Map(states.map(({ name, view }) => [view.selfId, name]));
  return states.map((state): ResizeNode => {
    const { slots, primaryId } = selfEntry(state);
    const { keys = 0, used = 0, limit = 0 } = memory.get(state.name) ?? {};
    const met = leaving.has(state.name) ? !isAlone(state, states) : part.has(state);
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

/** A slot that was being moved, by node name. */
export interface OpenMigration {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
}

export interface OpenMigrations {
  /** Begun by SETSLOT and not ended: keys may be on both sides. */
  readonly begun: readonly OpenMigration[];
  /** Marks of moves that have ended or make no sense, by the primary to take them from. */
  readonly stale: readonly { readonly slot: number; readonly node: string }[];
  readonly reasons: readonly string[];
}

/**
 * Moves by SETSLOT that whoever made them did not finish. A mark of either side is enough for one to be open: the
 * other may have been set, or lost, since. A replica's marks are its primary's.
 */
export function openMigrations(states: readonly MemberState[]): OpenMigrations {
  const byId = new Map(states.map((state) => [state.view.selfId, state]));
  const lead = (id: string): MemberState | undefined => byId.get(primaryOf(byId.get(id)) ?? id);
  const ownerOf = (slot: number): MemberState | undefined =>
    states.find((state) => selfEntry(state).slots.some(({ from, to }) => from <= slot && slot <= to));
  const begun = new Map<number, Set<string>>();
  const stale = new Map<string, { slot: number; node: string }>();
  for (const state of states) {
    for (const { slot, direction, peerId } of state.view.openSlots) {
      const here = lead(state.view.selfId) ?? state;
      const owner = ownerOf(slot);
      const target = direction === "migrating" ? lead(peerId) : here;
      const open = target !== undefined && target !== owner && (direction === "importing" || here === owner);
      if (open) begun.set(slot, (begun.get(slot) ?? new Set()).add(target.name));
      else stale.set(`${here.name} ${slot}`, { slot, node: here.name });
    }
  }
  return {
    begun: [...begun].flatMap(([slot, targets]) =>
      [...targets].map((to) => ({ slot, from: ownerOf(slot)?.name ?? "", to })),
    ),
    stale: [...stale.values()],
    reasons: [...begun]
      .filter(([, targets]) => targets.size > 1)
      .map(([slot, targets]) => `slot ${slot} is being taken over by several nodes: ${[...targets].join(", ")}`),
  };
}

function primaryOf(state: MemberState | undefined): KnownNode["primaryId"] {
  return state === undefined ? undefined : selfEntry(state).primaryId;
}
