/** Mixed workloads as arguments of a component. One shape for all load generators, so that any language can say it. */
import type { Arrivals, DataKind, LoadGeneratorName, ReadFrom } from "../../benchmarks/workloads/mixed-workload";

/** Frequency of requests for each key. */
export interface KeyDistributionArgs {
  /**
   * `uniform`: every key is as likely as any other. `zipfian`: few keys are requested most often. `hot-set`: a part of
   * the keys gets a part of the requests.
   */
  readonly distribution: "uniform" | "zipfian" | "hot-set";
  /** Exponent of `zipfian`: the key of rank k has weight k^−theta. @default 0.99 */
  readonly theta?: number | undefined;
  /** Part of the keys that is hot, of `hot-set`, 0 to 1. @default 0.2 */
  readonly keys?: number | undefined;
  /** Part of the requests that goes to hot keys, of `hot-set`, 0 to 1. @default 0.8 */
  readonly requests?: number | undefined;
}

/** A value size and how often it occurs. */
export interface WeightedSizeArgs {
  /** Value size, bytes. */
  readonly bytes: number;
  /** Relative frequency. */
  readonly weight: number;
}

/** Sizes of values. */
export interface ValueSizesArgs {
  /**
   * `fixed`: one size. `uniform`: every size between two bounds is as likely. `lognormal`: many small values and few
   * large ones. `weighted`: sizes from a list.
   */
  readonly sizes: "fixed" | "uniform" | "lognormal" | "weighted";
  /** Bytes, of `fixed`. */
  readonly bytes?: number | undefined;
  /** Smallest value, bytes, of `uniform`. */
  readonly min?: number | undefined;
  /** Largest value, bytes, of `uniform` and `lognormal`. @default 1048576 for `lognormal` */
  readonly max?: number | undefined;
  /** Median, bytes, of `lognormal`. */
  readonly median?: number | undefined;
  /** Standard deviation of the logarithm of the size, of `lognormal`. */
  readonly sigma?: number | undefined;
  /** Sizes of `weighted`. */
  readonly list?: readonly WeightedSizeArgs[] | undefined;
}

/** An open loop: requests at their intended times, whether replies come or not. */
export interface OpenLoopArgs {
  /** Strings are read by GET and written by SET, sorted sets by ZRANGE 0 -1 and ZADD. @default "strings" */
  readonly data?: DataKind | undefined;
  /** Part of the requests that read, 0 to 1. @default 0.9 */
  readonly reads?: number | undefined;
  /** Number of distinct keys; rounded to a multiple of 16384 where a target is a cluster. @default 1000000 */
  readonly keySpace?: number | undefined;
  /** Number of connections in all. @default 48 */
  readonly clients?: number | undefined;
  /** Requests sent together on one connection. @default 1 */
  readonly pipeline?: number | undefined;
  /** Nodes that serve the reads. @default "primary" */
  readonly readFrom?: ReadFrom | undefined;
  /** `poisson`, as from independent users, or `fixed`. @default "poisson" */
  readonly arrivals?: Arrivals | undefined;
  /** Frequency of requests for each key. @default uniform */
  readonly keys?: KeyDistributionArgs | undefined;
  /** Sizes of values. @default 256 bytes each */
  readonly values?: ValueSizesArgs | undefined;
  /** Threads of the load generator. @default 1 */
  readonly workers?: number | undefined;
  /** Time after which a request is given up, milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
  /** Most requests that wait for a free connection; further ones are counted, and not sent. @default 1000000 */
  readonly queue?: number | undefined;
}

/** Reads and writes in any ratio. Keys of another load generator than the named one are refused. */
export interface MixedWorkloadArgs extends OpenLoopArgs {
  /**
   * `valkey-benchmark` and `memtier` are closed loops: a connection waits for its reply. `open-loop` sends requests at
   * their intended times; only it has `arrivals`, `keys`, `values`, `workers`, `timeoutMs` and `queue`.
   * @default "valkey-benchmark"
   */
  readonly loadGenerator?: LoadGeneratorName | undefined;
  /**
   * Offered rate of all connections together, requests per second. An open loop needs one.
   * @default unlimited
   */
  readonly rate?: number | undefined;
  /** Value size, bytes, of closed loops. @default 256 */
  readonly dataSize?: number | undefined;
  /** Threads of the load generator, of closed loops. @default 1 */
  readonly threads?: number | undefined;
}

/** Bounds and precision of the search for a capacity. */
export interface SearchArgs {
  /** A latency percentile and its highest allowed value, such as `p99=2ms` or `p99.9=500us`. */
  readonly objective: string;
  /** First rate that is offered, requests per second. @default 1000 */
  readonly initialRate?: number | undefined;
  /** Highest rate that is offered, requests per second. @default 10000000 */
  readonly maxRate?: number | undefined;
  /** Relative precision of the capacity: 0.1 is 10 %. @default 0.1 */
  readonly precision?: number | undefined;
  /** Most repeats of the capacity, and of the next higher load. @default 3 */
  readonly confirmations?: number | undefined;
}
