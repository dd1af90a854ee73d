/** A mixed workload: reads and writes of one data set in any ratio, and the load generator that sends them. Plain data. */

/** Who sends a load: a closed loop of Valkey's own, one of memtier_benchmark's, or the open-loop generator. */
export const LOAD_GENERATORS = ["valkey-benchmark", "open-loop", "memtier"] as const;
export type LoadGeneratorName = (typeof LOAD_GENERATORS)[number];

/** What is read and written: GET and SET of strings, or ZRANGE 0 -1 and ZADD of small sorted sets (S5's). */
export const DATA_KINDS = ["strings", "sorted-sets"] as const;
export type DataKind = (typeof DATA_KINDS)[number];

/** Families of keys, by which they are put in place. */
export const KEY_FAMILIES = { strings: "key", "sorted-sets": "zset" } as const satisfies Record<DataKind, string>;

/** memtier's keys: numbered from 1 behind this, without a tag. */
export const MEMTIER_FAMILY = "memtier-";

/** Members that every sorted set is given before; writes give those same members other scores, so that none grows. */
export const ZSET_MEMBERS = 4;

/** What reads and writes are, by `INFO commandstats`. */
export const DATA_COMMANDS = {
  strings: { read: "get", write: "set" },
  "sorted-sets": { read: "zrange", write: "zadd" },
} as const satisfies Record<DataKind, unknown>;

/** Which keys are drawn how often. */
export type KeyDistribution =
  | { readonly distribution: "uniform" }
  /** The key of rank k with weight k^−theta; ranks are spread over all slots. */
  | { readonly distribution: "zipfian"; readonly theta: number }
  /** A part of the keys takes a part of the requests; both between 0 and 1. */
  | { readonly distribution: "hot-set"; readonly keys: number; readonly requests: number };

/** How large values are, bytes. */
export type ValueSizes =
  | { readonly sizes: "fixed"; readonly bytes: number }
  | { readonly sizes: "uniform"; readonly min: number; readonly max: number }
  /** exp of a normal distribution with this median and this sigma (of the logarithm), cut off at `max`. */
  | { readonly sizes: "lognormal"; readonly median: number; readonly sigma: number; readonly max: number }
  | { readonly sizes: "weighted"; readonly list: readonly { readonly bytes: number; readonly weight: number }[] };

/** Whether intended send times are evenly spaced, or as independent users make them. */
export const ARRIVALS = ["poisson", "fixed"] as const;
export type Arrivals = (typeof ARRIVALS)[number];

/** Who is asked to read. */
export const READ_FROM = ["primary", "replica", "any"] as const;
export type ReadFrom = (typeof READ_FROM)[number];

interface MixBase {
  /** As results name it. */
  readonly name: string;
  readonly data: DataKind;
  /** Part of the requests that read, 0 to 1. */
  readonly reads: number;
  /** Distinct keys. */
  readonly keySpace: number;
  /** Connections in parallel, in all. */
  readonly clients: number;
  /** Requests sent together on one connection. */
  readonly pipeline: number;
  readonly length: { readonly seconds: number };
  /** Seconds before anything counts. */
  readonly warmup: number;
}

interface ClosedLoopMix extends MixBase {
  /** Bytes per value. */
  readonly dataSize: number;
  /** Threads of the load generator. */
  readonly threads: number;
  /** Requests per second offered in all; undefined is as fast as can be. */
  readonly rate: number | undefined;
}

export interface ValkeyBenchmarkWorkload extends ClosedLoopMix {
  readonly loadGenerator: "valkey-benchmark";
  /** Replicas take no writes from it: other than the primary only where everything reads, in a cluster. */
  readonly readFrom: ReadFrom;
}

export interface MemtierWorkload extends ClosedLoopMix {
  readonly loadGenerator: "memtier";
}

export interface OpenLoopWorkload extends MixBase {
  readonly loadGenerator: "open-loop";
  /** Requests per second offered in all. */
  readonly rate: number;
  readonly arrivals: Arrivals;
  readonly keys: KeyDistribution;
  readonly values: ValueSizes;
  readonly readFrom: ReadFrom;
  /** Threads of the generator, each with its part of the rate and of the clients. */
  readonly workers: number;
  /** Milliseconds after which a request is given up on; what became of it is then unknown. */
  readonly timeoutMs: number;
  /** Requests that may wait for a free connection, in all; more are not sent, and counted. */
  readonly queue: number;
}

export type MixedWorkload = ValkeyBenchmarkWorkload | MemtierWorkload | OpenLoopWorkload;

/** What the requests of a mixed workload are: where any of it differs, it is other work. */
export interface RequestMix {
  readonly data: DataKind;
  readonly reads: number;
  readonly readFrom: ReadFrom;
  /** `uniform`, `zipfian theta=0.99`. */
  readonly keys: string;
  /** `fixed bytes=256`; empty where nothing is sent but the same small members. */
  readonly values: string;
}

export function requestMixOf(mix: MixedWorkload): RequestMix {
  const { data, reads } = mix;
  const values: ValueSizes = mix.loadGenerator === "open-loop" ? mix.values : { sizes: "fixed", bytes: mix.dataSize };
  const keys: KeyDistribution = mix.loadGenerator === "open-loop" ? mix.keys : { distribution: "uniform" };
  return {
    data,
    reads,
    readFrom: mix.loadGenerator === "memtier" ? "primary" : mix.readFrom,
    keys: inWords(keys.distribution, keys),
    values: data === "strings" ? inWords(values.sizes, values) : "",
  };
}

/** Its name, then what else it has. */
function inWords(name: string, of: object): string {
  const rest = Object.entries(of)
    .filter(([, value]) => value !== name)
    .map(([key, value]) => `${key}=${typeof value === "number" ? value : JSON.stringify(value)}`);
  return [name, ...rest].join(" ");
}

/** Whether some keys, and so some primaries, are meant to get more than others. */
export function hasSkewedKeys(mix: MixedWorkload): boolean {
  return mix.loadGenerator === "open-loop" && mix.keys.distribution !== "uniform";
}

/** Bytes; a lognormal's is that of the whole distribution, so a little too much where it is cut off. */
export function meanValueBytes(values: ValueSizes): number {
  switch (values.sizes) {
    case "fixed":
      return values.bytes;
    case "uniform":
      return (values.min + values.max) / 2;
    case "lognormal":
      return Math.min(values.max, values.median * Math.exp(values.sigma ** 2 / 2));
    case "weighted":
      return (
        values.list.reduce((sum, { bytes, weight }) => sum + bytes * weight, 0) /
        values.list.reduce((sum, { weight }) => sum + weight, 0)
      );
  }
}
