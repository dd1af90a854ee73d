/** Load generators: the closed loops of valkey-benchmark and memtier_benchmark, and this project's open loop. */
export const LOAD_GENERATORS = ["valkey-benchmark", "open-loop", "memtier"] as const;
export type LoadGeneratorName = (typeof LOAD_GENERATORS)[number];

/**
 * Kinds of data that are read and written: strings with GET and SET, or small sorted sets with ZRANGE 0 -1 and ZADD (as
 * in the published document "Single-node multi-shard", see docs/sources.md).
 */
export const DATA_KINDS = ["strings", "sorted-sets"] as const;
export type DataKind = (typeof DATA_KINDS)[number];

export const KEY_FAMILIES = { strings: "key", "sorted-sets": "zset" } as const satisfies Record<DataKind, string>;

/** A number follows, from 1. The names have no hash tag. */
export const MEMTIER_FAMILY = "memtier-";

/** Writes change only the scores of these members, so sorted sets do not grow. */
export const ZSET_MEMBERS = 4;

export const DATA_COMMANDS = {
  strings: { read: "get", write: "set" },
  "sorted-sets": { read: "zrange", write: "zadd" },
} as const satisfies Record<DataKind, unknown>;

/** Distribution by which a load generator chooses keys. */
export type KeyDistribution =
  | { readonly distribution: "uniform" }
  /** The key with rank k has the weight k^−theta. Ranks are spread over all slots. */
  | { readonly distribution: "zipfian"; readonly theta: number }
  /** The fraction `keys` of the keys receives the fraction `requests` of the requests. Both are between 0 and 1. */
  | { readonly distribution: "hot-set"; readonly keys: number; readonly requests: number };

/** Sizes of values, bytes. */
export type ValueSizes =
  | { readonly sizes: "fixed"; readonly bytes: number }
  | { readonly sizes: "uniform"; readonly min: number; readonly max: number }
  /**
   * A log-normal distribution with the given median and the given standard deviation of the logarithm, limited to
   * `max`.
   */
  | { readonly sizes: "lognormal"; readonly median: number; readonly sigma: number; readonly max: number }
  | { readonly sizes: "weighted"; readonly list: readonly { readonly bytes: number; readonly weight: number }[] };

/**
 * Distribution of intended send times. Either the times are random, like the times of independent users, or they are
 * evenly spaced.
 */
export const ARRIVALS = ["poisson", "fixed"] as const;
export type Arrivals = (typeof ARRIVALS)[number];

/** Nodes that serve the reads. */
export const READ_FROM = ["primary", "replica", "any"] as const;
export type ReadFrom = (typeof READ_FROM)[number];

/** Fields of every mixed workload. */
interface CommonWorkload {
  /** Name of the workload in results. */
  readonly name: string;
  readonly data: DataKind;
  /** Share of the requests that are reads, 0 to 1. */
  readonly reads: number;
  /** Number of different keys. */
  readonly keySpace: number;
  /** Number of connections of all threads together. */
  readonly clients: number;
  /** Number of requests in one batch on a connection. */
  readonly pipeline: number;
  readonly length: { readonly seconds: number };
  /** Seconds of load before counting begins. */
  readonly warmup: number;
}

/** Additional fields of mixed workloads that a closed-loop load generator sends. */
interface ClosedLoopWorkload extends CommonWorkload {
  /** Size of a value, bytes. */
  readonly dataSize: number;
  /** Number of threads of the load generator. */
  readonly threads: number;
  /** Offered requests per second of all threads together; undefined for full speed. */
  readonly rate: number | undefined;
}

/** A mixed workload that valkey-benchmark sends as a sequence of commands. */
export interface ValkeyBenchmarkWorkload extends ClosedLoopWorkload {
  readonly loadGenerator: "valkey-benchmark";
  /** Nodes that serve the reads. Values other than `primary` need a cluster and a workload without writes. */
  readonly readFrom: ReadFrom;
}

/** A mixed workload that memtier_benchmark sends. */
export interface MemtierWorkload extends ClosedLoopWorkload {
  readonly loadGenerator: "memtier";
}

/** A mixed workload that the open-loop generator sends at intended times, without waiting for replies. */
export interface OpenLoopWorkload extends CommonWorkload {
  readonly loadGenerator: "open-loop";
  /** Offered requests per second of all workers together. */
  readonly rate: number;
  readonly arrivals: Arrivals;
  readonly keys: KeyDistribution;
  readonly values: ValueSizes;
  readonly readFrom: ReadFrom;
  /** Number of threads of the generator. Each thread has its share of the rate and of the clients. */
  readonly workers: number;
  /** Milliseconds after which a request is given up. The outcome of a request that was given up is unknown. */
  readonly timeoutMs: number;
  /**
   * Highest number of requests of all workers that wait for a free connection. Further requests are counted but not
   * sent.
   */
  readonly queue: number;
}

/** Reads and writes of one data set, by the load generator that sends them. */
export type MixedWorkload = ValkeyBenchmarkWorkload | MemtierWorkload | OpenLoopWorkload;

/** Workloads with different request mixes cannot be compared. */
interface RequestMix {
  readonly data: DataKind;
  readonly reads: number;
  readonly readFrom: ReadFrom;
  readonly keys: string;
  /** Such as `fixed bytes=256`; empty for sorted sets, whose members all have the same size. */
  readonly values: string;
}

export function requestMixOf(mixed: MixedWorkload): RequestMix {
  const { data, reads } = mixed;
  const isOpen = mixed.loadGenerator === "open-loop";
  const values: ValueSizes = isOpen ? mixed.values : { sizes: "fixed", bytes: mixed.dataSize };
  const keys: KeyDistribution = isOpen ? mixed.keys : { distribution: "uniform" };
  return {
    data,
    reads,
    readFrom: mixed.loadGenerator === "memtier" ? "primary" : mixed.readFrom,
    keys: describeParameters(keys.distribution, keys),
    values: data === "strings" ? describeParameters(values.sizes, values) : "",
  };
}

function describeParameters(name: string, of: object): string {
  const rest = Object.entries(of)
    .filter(([, value]) => value !== name)
    .map(([key, value]) => `${key}=${typeof value === "number" ? value : JSON.stringify(value)}`);
  return [name, ...rest].join(" ");
}

/** Whether some keys, and therefore some primaries, are expected to receive more requests than others. */
export function hasSkewedKeys(mixed: MixedWorkload): boolean {
  return mixed.loadGenerator === "open-loop" && mixed.keys.distribution !== "uniform";
}

/** Bytes. Ignores the limit `max` of a log-normal distribution, so it is a little too high. */
export function meanValueBytes(values: ValueSizes): number {
  switch (values.sizes) {
    case "fixed":
      return values.bytes;
    case "uniform":
      return (values.min + values.max) / 2;
    case "lognormal":
      return Math.min(values.max, values.median * Math.exp(values.sigma ** 2 / 2));
    case "weighted":
      return weightedMean(values.list);
  }
}

function weightedMean(list: readonly { readonly bytes: number; readonly weight: number }[]): number {
  const weights = list.reduce((sum, { weight }) => sum + weight, 0);
  return list.reduce((sum, { bytes, weight }) => sum + bytes * weight, 0) / weights;
}
