import type { Mode } from "../../valkey/node";
import { SLOT_COUNT } from "../../valkey/topology/slots";

export interface ObservedNodeState {
  readonly role: "primary" | "replica" | "silent";
  /** Undefined if the replica follows a host name that is not the name of a node. */
  readonly follows: string | undefined;
  readonly linkUp: boolean;
  /** In replication mode, true for every node that replies. */
  readonly ok: boolean;
  readonly slots: number;
}

export const SILENT: ObservedNodeState = { role: "silent", follows: undefined, linkUp: false, ok: false, slots: 0 };

export interface ExpectedTopology {
  readonly mode: Mode;
  readonly primaries: number;
  readonly replicasPerPrimary: number;
}

/** For replicas that follow the host name of a Service: the only primary, or undefined. */
export function followService(states: ReadonlyMap<string, ObservedNodeState>): Map<string, ObservedNodeState> {
  const primaries = [...states].filter(([, { role }]) => role === "primary").map(([name]) => name);
  const follows = primaries.length === 1 ? primaries[0] : undefined;
  return new Map(
    [...states].map(([name, state]) => [
      name,
      state.role === "replica" && state.follows === undefined ? { ...state, follows } : state,
    ]),
  );
}

/** Every node that replies sees all slots served; in replication mode, there is exactly one primary. */
export function isServing(states: ReadonlyMap<string, ObservedNodeState>, { mode }: ExpectedTopology): boolean {
  const replying = [...states.values()].filter(({ role }) => role !== "silent");
  if (replying.length === 0) return false;
  if (mode === "replication") return replying.filter(({ role }) => role === "primary").length === 1;
  return replying.every(({ ok }) => ok);
}

/** Whether the deployment serves, every node replies, and every primary has the expected number of linked replicas. */
export function isRedundant(states: ReadonlyMap<string, ObservedNodeState>, expected: ExpectedTopology): boolean {
  const all = [...states.values()];
  if (!isServing(states, expected) || all.some(({ role }) => role === "silent")) return false;
  const primaries = [...states].filter(
    ([, { role, slots }]) => role === "primary" && (expected.mode === "replication" || slots > 0),
  );
  const followers = (name: string): number =>
    all.filter(({ role, follows, linkUp }) => role === "replica" && follows === name && linkUp).length;
  return (
    primaries.length === expected.primaries &&
    primaries.every(([name]) => followers(name) === expected.replicasPerPrimary)
  );
}

export function isZoneSafe(
  states: ReadonlyMap<string, ObservedNodeState>,
  expected: ExpectedTopology,
  zoneOf: ReadonlyMap<string, string>,
): boolean {
  return (
    isRedundant(states, expected) &&
    [...states].every(([name, { follows }]) => follows === undefined || zoneOf.get(name) !== zoneOf.get(follows))
  );
}

export function stateName({ role, linkUp, ok, slots }: ObservedNodeState, mode: Mode): string {
  if (role === "silent") return "silent";
  if (role === "replica") return linkUp ? "replica" : "replica, not linked";
  if (mode === "cluster" && slots === 0) return "primary without slots";
  return ok ? "primary" : "primary, cluster down";
}

export interface StateChange {
  readonly node: string;
  readonly atMs: number;
  readonly state: string;
}

/** Whether CLUSTER INFO of a node reports that all slots are served and that no owner of slots is suspected. */
export function seesAllSlotsServed(info: ReadonlyMap<string, string>): boolean {
  return info.get("cluster_state") === "ok" && info.get("cluster_slots_ok") === String(SLOT_COUNT);
}
