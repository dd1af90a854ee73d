/** A workload of named tests: what is sent to a deployment, over how many connections, and for how long. Plain data. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { TestName } from "./named-tests";

/** Named tests and how they are sent. */
export interface Workload {
  /** Name in results; the deployment's name where undefined. */
  readonly name: string | undefined;
  readonly tests: readonly TestName[];
  /** Connections of all threads together. */
  readonly clients: number;
  /** Requests in one batch on a connection. */
  readonly pipeline: number;
  /** Bytes per value. */
  readonly dataSize: number;
  /** Threads of the load generator. */
  readonly threads: number;
  /** Distinct keys of each family. */
  readonly keySpace: number;
  /** Length of each measurement: seconds, or a number of requests. */
  readonly length: { readonly seconds: number } | { readonly requests: number };
  /** Seconds before anything counts. */
  readonly warmup: number;
  /** Requests offered per second by all threads together; undefined for full speed. */
  readonly rate: number | undefined;
}

/**
 * The nearest key space that every deployment can have exactly. In a cluster valkey-benchmark draws a hash tag and a
 * number, so it has 16384 times a whole number of keys. Deployments in replication mode that are compared with it use
 * as many.
 */
export function adjustKeySpace(keySpace: number, anyCluster: boolean): number {
  return anyCluster ? Math.max(1, Math.round(keySpace / SLOT_COUNT)) * SLOT_COUNT : keySpace;
}

/** A setting that gives primaries unequal shares, with the nearest values that give equal ones. */
export interface UnevenSetting {
  readonly setting: "clients" | "threads";
  readonly why: string;
  readonly nearest: readonly number[];
}

/**
 * Settings that give primaries unequal shares of the load. In cluster mode valkey-benchmark binds each connection to
 * one primary. With fewer threads T than primaries P, connection i goes to primary i mod P. Otherwise connection i
 * belongs to thread i mod T, and thread t goes to primary t mod P.
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

/** Factors by which the number of connections may change to be shared evenly. */
const FIT = { min: 0.75, max: 1.5 };

/**
 * The nearest numbers of connections and threads that every cluster can share evenly: first as many threads as wanted,
 * then as many connections. Returns the given numbers where they are even already, and where no near ones are.
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

/** The multiple of all units that is nearest to a value: of the numbers of connections, those that all can share. */
export function nearestMultiple(value: number, units: readonly number[]): number {
  const unit = units.reduce(leastCommonMultiple, 1);
  return Math.max(1, Math.round(value / unit)) * unit;
}

function leastCommonMultiple(a: number, b: number): number {
  const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
  return (a / gcd(a, b)) * b;
}

/** Bytes of an entry besides its value: its key, and the object, entry and table. */
const BYTES_PER_ENTRY = 24 + 90;
/** Factor by which memory varies while tables double. */
const TABLE_GROWTH = 1.13;

/**
 * Bytes that the keys of a workload take on a node that holds `share` of them. Each takes a key of 16 to 24 bytes, the
 * value, and about 90 bytes for object, entry and table, which vary by 13 % as tables double.
 */
export function dataBytes(workload: Pick<Workload, "keySpace" | "dataSize">, families: number, share: number): number {
  return Math.ceil(workload.keySpace * share * families * (BYTES_PER_ENTRY + workload.dataSize) * TABLE_GROWTH);
}
