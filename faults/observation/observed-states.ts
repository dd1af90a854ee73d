import type { Mode } from "../../valkey/node";
import { SLOT_COUNT } from "../../valkey/topology/slots";

/** `silent`: it does not answer. */
export type NodeRole = "primary" | "replica" | "silent";

/** A node at a time. */
export interface ObservedNodeState {
  readonly role: NodeRole;
  /** The name of the primary that a replica follows, where that is a node of the deployment. */
  readonly follows: string | undefined;
  /** A replica's link to its primary is up, and it is not loading. */
  readonly linkUp: boolean;
  /** A cluster's node: its state is ok, all slots are served and none suspected. Else: it answers. */
  readonly ok: boolean;
  /** Slots it serves. */
  readonly slots: number;
}

export const SILENT: ObservedNodeState = { role: "silent", follows: undefined, linkUp: false, ok: false, slots: 0 };

export interface ExpectedTopology {
  readonly mode: Mode;
  readonly primaries: number;
  readonly replicasPerPrimary: number;
}

/** Every node that answers says that all slots are served; in replication there is one primary. */
export function isServing(states: ReadonlyMap<string, ObservedNodeState>, { mode }: ExpectedTopology): boolean {
  const speaking = [...states.values()].filter(({ role }) => role !== "silent");
  if (speaking.length === 0) return false;
  if (mode === "replication") return speaking.filter(({ role }) => role === "primary").length === 1;
  return speaking.every(({ ok }) => ok);
}

/** All is ok, no node is silent, and every primary has its replicas, linked. */
export function isRedundant(states: ReadonlyMap<string, ObservedNodeState>, wanted: ExpectedTopology): boolean {
  const all = [...states.values()];
  if (!isServing(states, wanted) || all.some(({ role }) => role === "silent")) return false;
  const primaries = [...states].filter(
    ([, { role, slots }]) => role === "primary" && (wanted.mode === "replication" || slots > 0),
  );
  const followers = (name: string): number =>
    all.filter(({ role, follows, linkUp }) => role === "replica" && follows === name && linkUp).length;
  return (
    primaries.length === wanted.primaries && primaries.every(([name]) => followers(name) === wanted.replicasPerPrimary)
  );
}

/** It is redundant, and no replica is in the zone of its primary. */
export function isZoneSafe(
  states: ReadonlyMap<string, ObservedNodeState>,
  wanted: ExpectedTopology,
  zoneOf: ReadonlyMap<string, string>,
): boolean {
  return (
    isRedundant(states, wanted) &&
    [...states].every(([name, { follows }]) => follows === undefined || zoneOf.get(name) !== zoneOf.get(follows))
  );
}

/** What a node's state is called in a timeline. */
export function stateName({ role, linkUp, ok, slots }: ObservedNodeState, mode: Mode): string {
  if (role === "silent") return "silent";
  if (role === "replica") return linkUp ? "replica" : "replica, not linked";
  if (mode === "cluster" && slots === 0) return "primary without slots";
  return ok ? "primary" : "primary, cluster down";
}

/** A change of a node's state, milliseconds from the fault. */
export interface StateChange {
  readonly node: string;
  readonly atMs: number;
  readonly state: string;
}

/** CLUSTER INFO: whether a node sees all slots served and none suspected. */
export function seesAllSlotsServed(info: ReadonlyMap<string, string>): boolean {
  return info.get("cluster_state") === "ok" && info.get("cluster_slots_ok") === String(SLOT_COUNT);
}
