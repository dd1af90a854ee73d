/** A workload: what is sent to a deployment, how much at a time and for how long. Plain data. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { TestName } from "./named-tests";

export interface Workload {
  /** Tag for results; the deployment's name where there is none. */
  readonly name: string | undefined;
  readonly tests: readonly TestName[];
  /** Connections in parallel, over all threads. */
  readonly clients: number;
  /** Requests sent before the first reply is awaited. */
  readonly pipeline: number;
  /** Bytes per value. */
  readonly dataSize: number;
  /** Threads of the load generator. */
  readonly threads: number;
  /** Distinct keys of each family. */
  readonly keySpace: number;
  /** How long each measurement lasts: seconds, or a number of requests. */
  readonly length: { readonly seconds: number } | { readonly requests: number };
  /** Seconds before anything counts. */
  readonly warmup: number;
  /** Requests per second offered in all; undefined is as fast as can be. */
  readonly rate: number | undefined;
}

/**
 * The nearest key space that every deployment can have exactly. In a cluster valkey-benchmark draws a slot
 * tag and a number, so its keys are 16384 times a whole number; other deployments then use as many.
 */
export function fitKeySpace(keySpace: number, anyCluster: boolean): number {
  return anyCluster ? Math.max(1, Math.round(keySpace / SLOT_COUNT)) * SLOT_COUNT : keySpace;
}

/** What is uneven about clients and threads over primaries, with the nearest numbers that are even. */
export interface UnevenSetting {
  readonly setting: "clients" | "threads";
  readonly why: string;
  readonly nearest: readonly number[];
}

/**
 * In cluster mode valkey-benchmark binds each connection to one primary: connection i to primary i mod P
 * when there are fewer threads than primaries, else to that of its thread, thread t to primary t mod P, and
 * connection i to thread i mod T. Every primary gets the same share only when these divide.
 */
export function unevenSettings(clients: number, threads: number, primaries: number): UnevenSetting[] {
  const faults: UnevenSetting[] = [];
  if (threads > primaries && threads % primaries !== 0) {
    faults.push({
      setting: "threads",
      why: `${threads} threads cannot be shared evenly by ${primaries} primaries`,
      nearest: multiplesAround(threads, primaries),
    });
  }
  const unit = threads > primaries ? threads : leastCommonMultiple(threads, primaries);
  if (clients % unit !== 0) {
    const sharers = threads > 1 ? `${primaries} primaries and ${threads} threads` : `${primaries} primaries`;
    faults.push({
      setting: "clients",
      why: `${clients} clients cannot be shared evenly by ${sharers}`,
      nearest: multiplesAround(clients, unit),
    });
  }
  return faults;
}

/** How far connections may go from what is wanted to be shared evenly. */
const FIT = { least: 0.75, most: 1.5 };

/**
 * The nearest connections and threads that every cluster can share evenly: as many threads as wanted if there can be, then
 * as many connections. Unchanged where they are even already, and where nothing near is.
 * @param primaries of each cluster
 */
export function fitLoad(
  clients: number,
  threads: number,
  primaries: readonly number[],
): { readonly clients: number; readonly threads: number } {
  const even = (c: number, t: number): boolean => primaries.every((each) => unevenSettings(c, t, each).length === 0);
  if (even(clients, threads)) return { clients, threads };
  const together = primaries.reduce(leastCommonMultiple, 1);
  const multiples = Array.from(
    { length: Math.floor((clients * FIT.most) / together) },
    (_, index) => (index + 1) * together,
  );
  const near = multiples
    .filter((each) => each >= clients * FIT.least)
    .sort((a, b) => Math.abs(a - clients) - Math.abs(b - clients));
  for (let t = threads; t >= 1; t--) {
    const found = near.find((each) => even(each, t));
    if (found !== undefined) return { clients: found, threads: t };
  }
  return { clients, threads };
}

function multiplesAround(value: number, unit: number): number[] {
  const below = Math.floor(value / unit) * unit;
  return below === 0 ? [unit] : [below, below + unit];
}

function leastCommonMultiple(a: number, b: number): number {
  const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
  return (a / gcd(a, b)) * b;
}

/**
 * Bytes the keys of a workload take on the node that holds `share` of them: a key of 16 to 24 bytes, the
 * value, and about 90 bytes for object, entry and table, which swings by 13 % as tables double.
 */
export function dataBytes(workload: Pick<Workload, "keySpace" | "dataSize">, families: number, share: number): number {
  const PER_ENTRY = 24 + 90;
  return Math.ceil(workload.keySpace * share * families * (PER_ENTRY + workload.dataSize) * 1.13);
}
