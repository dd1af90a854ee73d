/**
 * Writes, counts and removes exactly the keys of a test, by a script on the servers in short slices, so that other
 * commands are executed in between. Only hash tags are sent, so a port-forward is as fast as loopback.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import type { SlotRange } from "../../valkey/topology/slots";
import {
  type KeyExtent,
  type KeyNames,
  type NeededKeys,
  type PrefillSize,
  type SliceAction,
  expectedKeys,
  extentOf,
  FUNCTIONS,
  keyExtent,
  keyNames,
  keySlices,
  SLICE_KEYS,
  keyInfixes,
} from "./key-slices";
import type { Prefill } from "./named-tests";

export interface PrimaryNode {
  readonly name: string;
  readonly connection: Connection;
  readonly slots: readonly SlotRange[] | undefined;
  readonly replicas: number;
}

/** Several, because a call over a port-forward can take 100 ms. */
const CALLS_IN_FLIGHT = 4;
export const KEYS_IN_FLIGHT = SLICE_KEYS * CALLS_IN_FLIGHT;
const REPLICATION_TIMEOUT_MS = 60_000;

const SCRIPT = readFileSync(join(__dirname, "prefill.lua"), "utf8");
/** In a cluster, a call covers many slots, and must also remove keys if memory is full. Some engines reject flags. */
const CLUSTER_FLAGS: Readonly<Record<SliceAction, string>> = {
  fill: "allow-cross-slot-keys",
  count: "allow-cross-slot-keys,allow-oom",
  remove: "allow-cross-slot-keys,allow-oom",
};
const ACTION_TITLES: Readonly<Record<SliceAction, string>> = {
  fill: "prefill",
  count: "count of the benchmark's keys",
  remove: "removal of the benchmark's keys",
};

export const LIBRARY = "benchlib";
const FUNCTION_LIBRARY = readFileSync(join(__dirname, "benchlib.lua"), "utf8");

export async function prefill(
  primaries: readonly PrimaryNode[],
  what: Prefill,
  size: PrefillSize,
  signal?: AbortSignal,
): Promise<void> {
  const counts = await Promise.all(primaries.map((primary) => prefillPrimary(primary, what, size, signal)));
  const all = sum(counts);
  if (what.kind === "plain" && all !== size.keySpace) {
    throw new Failure(
      `the primaries hold only ${all} of the ${size.keySpace} ${what.family} keys, ` +
        "because no primary serves the slots of the other keys",
    );
  }
}

/** @returns the number of keys in the end; 0 for keys that the test itself creates */
async function prefillPrimary(
  primary: PrimaryNode,
  what: Prefill,
  size: PrefillSize,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (what.kind === "functions") {
    await explained(primary, "fill", primary.connection.call("FUNCTION", "LOAD", "REPLACE", FUNCTION_LIBRARY));
    return 0;
  }
  const extent = keyExtent(what, size, primary.slots);
  // To fill an existing list, stock or grown collection would add elements to it, so the existing keys are removed
  // first. To fill numbered keys or members again changes nothing.
  if (what.kind === "list" || what.kind === "stock" || what.kind === "grown")
    await runSlices(primary, extent, "remove", signal);
  if (what.kind === "grown") return 0;
  const filled = await runSlices(primary, extent, "fill", signal);
  await awaitReplicas(primary);
  // The number of written keys does not show whether keys are missing, so it is compared with the expected number. For
  // keys without hash tags, the sum over all primaries is compared with the key space later.
  const expected = expectedKeys(extent, primary.slots) ?? filled;
  const found = await runSlices(primary, extent, "count", signal);
  if (found !== expected) {
    throw new Failure(
      `${primary.name} holds ${found} of the ${expected} ${what.family} keys that were written: ` +
        "the server evicted the missing keys, or another client removed them",
    );
  }
  return found;
}

export async function removeKeys(primary: PrimaryNode, names: KeyNames): Promise<number> {
  if (names.family !== FUNCTIONS) return runSlices(primary, extentOf(names), "remove");
  return withLibrary(primary, "remove", ["DELETE", LIBRARY]);
}

export async function countKeys(primary: PrimaryNode, names: KeyNames): Promise<number> {
  if (names.family !== FUNCTIONS) return runSlices(primary, extentOf(names), "count");
  return withLibrary(primary, "count", ["LIST", "LIBRARYNAME", LIBRARY]);
}

/** @returns 1 if the function library exists, otherwise 0 */
async function withLibrary(primary: PrimaryNode, action: SliceAction, words: readonly string[]): Promise<number> {
  const reply = primary.connection.call("FUNCTION", ...words).catch((error: unknown) => {
    // A server without functions has no library either.
    if (/library not found|unknown (sub)?command/i.test(messageOf(error))) return [];
    throw error;
  });
  const found = await explained(primary, action, reply);
  return Array.isArray(found) && found.length === 0 ? 0 : 1;
}

export async function hasRunEmpty(primaries: readonly PrimaryNode[], needed: NeededKeys): Promise<boolean> {
  if (needed.what.kind !== "stock") return false;
  const collections = sum(primaries.map(({ slots }) => keyInfixes(slots).length));
  const names = keyNames(
    needed,
    primaries.some(({ slots }) => slots !== undefined),
  );
  return sum(await Promise.all(primaries.map((primary) => countKeys(primary, names)))) < collections;
}

async function runSlices(
  primary: PrimaryNode,
  extent: KeyExtent,
  action: SliceAction,
  signal?: AbortSignal,
): Promise<number> {
  const script = primary.slots === undefined ? SCRIPT : `#!lua flags=${CLUSTER_FLAGS[action]}\n${SCRIPT}`;
  const slices = keySlices(action, extent, primary.slots);
  let total = 0;
  for (let i = 0; i < slices.length; i += CALLS_IN_FLIGHT) {
    signal?.throwIfAborted();
    const calls = slices
      .slice(i, i + CALLS_IN_FLIGHT)
      .map((slice) => explained(primary, action, primary.connection.eval(script, 0, JSON.stringify(slice))));
    total += sum((await Promise.all(calls)).map(Number));
  }
  return total;
}

async function explained<T>(primary: PrimaryNode, action: SliceAction, reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    const message = messageOf(error);
    const hint = message.includes("OOM") ? "; its maxmemory is too small for this workload" : "";
    throw new Failure(`${primary.name} refused the ${ACTION_TITLES[action]}: ${message}${hint}`, { cause: error });
  }
}

async function awaitReplicas({ name, connection, replicas }: PrimaryNode): Promise<void> {
  if (replicas === 0) return;
  const began = Date.now();
  while ((await connection.wait(replicas, 5_000)) < replicas) {
    if (Date.now() - began > REPLICATION_TIMEOUT_MS) {
      throw new Failure(`timed out waiting for the replicas of ${name} to receive the prefill`);
    }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
