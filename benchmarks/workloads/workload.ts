import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { TestName } from "./named-tests";

/** Named tests and the options with which they are sent. */
export interface Workload {
  /** Name of the workload in results. If it is undefined, results use the deployment's name. */
  readonly name: string | undefined;
  readonly tests: readonly TestName[];
  /** Number of connections of all threads together. */
  readonly clients: number;
  /** Number of requests in one batch on a connection. */
  readonly pipeline: number;
  /** Size of a value, bytes. */
  readonly dataSize: number;
  /** Number of threads of the load generator. */
  readonly threads: number;
  /** Number of different keys of each family. All keys of a family begin with the same text. */
  readonly keySpace: number;
  /** Length of each measurement: seconds, or a number of requests. */
  readonly length: { readonly seconds: number } | { readonly requests: number };
  /** Seconds of load before counting begins. */
  readonly warmup: number;
  /** Offered requests per second of all threads together; undefined for full speed. */
  readonly rate: number | undefined;
}

/**
 * In a cluster, each key has a hash tag and a number, so the number of keys is a multiple of 16384. A deployment in
 * replication mode beside a cluster gets the same number.
 */
export function adjustKeySpace(keySpace: number, anyCluster: boolean): number {
  return anyCluster ? Math.max(1, Math.round(keySpace / SLOT_COUNT)) * SLOT_COUNT : keySpace;
}

interface UnevenSetting {
  readonly setting: "clients" | "threads";
  readonly why: string;
  readonly nearest: readonly number[];
}

/**
 * In cluster mode, valkey-benchmark binds each connection to one primary. With fewer threads T than primaries P,
 * connection i goes to primary i mod P; otherwise to thread i mod T, and thread t to primary t mod P.
 */
export function unevenSettings(clients: number, threads: number, primaries: number): UnevenSetting[] {
  const uneven: UnevenSetting[] = [];
  if (threads > primaries && threads % primaries !== 0) {
    uneven.push({
      setting: "threads",
      why: `${threads} threads cannot be shared evenly by ${primaries} primaries`,
      nearest: multiplesAround(threads, primaries),
    });
  }
  const unit = threads > primaries ? threads : leastCommonMultiple(threads, primaries);
  if (clients % unit !== 0) {
    const sharers = threads > 1 ? `${primaries} primaries and ${threads} threads` : `${primaries} primaries`;
    uneven.push({
      setting: "clients",
      why: `${clients} clients cannot be shared evenly by ${sharers}`,
      nearest: multiplesAround(clients, unit),
    });
  }
  return uneven;
}

/** Factors of the given number of connections, within which an adjustment may choose. */
const FIT = { min: 0.75, max: 1.5 };

/**
 * Keeps as many threads as possible, then chooses the nearest number of connections that all clusters share evenly.
 * Unchanged if no near numbers fit.
 * @param primaries number of primaries of each cluster
 */
export function adjustedLoad(
  clients: number,
  threads: number,
  primaries: readonly number[],
): { readonly clients: number; readonly threads: number } {
  const even = (c: number, t: number): boolean => primaries.every((each) => unevenSettings(c, t, each).length === 0);
  if (even(clients, threads)) return { clients, threads };
  const together = primaries.reduce(leastCommonMultiple, 1);
  const multiples = Array.from(
    { length: Math.floor((clients * FIT.max) / together) },
    (_, index) => (index + 1) * together,
  );
  const near = multiples
    .filter((each) => each >= clients * FIT.min)
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

export function nearestMultiple(value: number, units: readonly number[]): number {
  const unit = units.reduce(leastCommonMultiple, 1);
  return Math.max(1, Math.round(value / unit)) * unit;
}

function leastCommonMultiple(a: number, b: number): number {
  const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
  return (a / gcd(a, b)) * b;
}

/** Bytes of an entry without its value: the key, the object, the entry and the table. */
const BYTES_PER_ENTRY = 24 + 90;
/** It varies because a hash table doubles when it grows. */
const TABLE_GROWTH = 1.13;

/**
 * Bytes; `share` is the node's share of the keys. Each key needs 16 to 24 bytes for its name, its value, and about 90
 * bytes for object, entry and hash table, which vary by 13 % when hash tables double.
 */
export function dataBytes(workload: Pick<Workload, "keySpace" | "dataSize">, families: number, share: number): number {
  return Math.ceil(workload.keySpace * share * families * (BYTES_PER_ENTRY + workload.dataSize) * TABLE_GROWTH);
}
