/** One type for all load generators, so that every Pulumi language can express these workloads. */
import type { Arrivals, DataKind, LoadGeneratorName, ReadFrom } from "../../benchmarks/workloads/mixed-workload";

/** Distribution of requests over the keys. */
interface KeyDistributionArgs {
  /**
   * Kind of distribution. `uniform`: every key is equally likely. `zipfian`: a few keys get most requests. `hot-set`:
   * the part `keys` of all keys gets the part `requests` of all requests.
   */
  readonly distribution: "uniform" | "zipfian" | "hot-set";
  /** For `zipfian`: the exponent; the key of rank k has the weight k^−theta. @default 0.99 */
  readonly theta?: number | undefined;
  /** For `hot-set`: part of the keys that is hot, 0 to 1. @default 0.2 */
  readonly keys?: number | undefined;
  /** For `hot-set`: part of the requests that goes to hot keys, 0 to 1. @default 0.8 */
  readonly requests?: number | undefined;
}

/** A value size and how often it occurs. */
interface WeightedSizeArgs {
  /** Value size, bytes. */
  readonly bytes: number;
  /** Frequency relative to the other sizes in the list. */
  readonly weight: number;
}

/** Sizes of values. */
interface ValueSizesArgs {
  /**
   * Kind of distribution. `fixed`: one size. `uniform`: every size between two bounds is equally likely. `lognormal`:
   * many small values and few large values. `weighted`: sizes from a list.
   */
  readonly sizes: "fixed" | "uniform" | "lognormal" | "weighted";
  /** For `fixed`: the size, bytes. */
  readonly bytes?: number | undefined;
  /** For `uniform`: the smallest size, bytes. */
  readonly min?: number | undefined;
  /** For `uniform` and `lognormal`: the largest size, bytes. @default 1048576 for `lognormal` */
  readonly max?: number | undefined;
  /** For `lognormal`: the median size, bytes. */
  readonly median?: number | undefined;
  /** For `lognormal`: the standard deviation of the natural logarithm of the size. */
  readonly sigma?: number | undefined;
  /** For `weighted`: the sizes. */
  readonly list?: readonly WeightedSizeArgs[] | undefined;
}

/** An open loop. It sends requests at their intended times, whether replies come or not. */
export interface OpenLoopArgs {
  /**
   * Type of the data. Strings are read by GET and written by SET; sorted sets are read by ZRANGE 0 -1 and written by
   * ZADD.
   * @default "strings"
   */
  readonly data?: DataKind | undefined;
  /** Part of the requests that are reads, 0 to 1. @default 0.9 */
  readonly reads?: number | undefined;
  /** Number of distinct keys. It is rounded to a multiple of 16384 if a target is a cluster. @default 1000000 */
  readonly keySpace?: number | undefined;
  /** Total number of connections. @default 48 */
  readonly clients?: number | undefined;
  /** Number of requests that are sent together on one connection. @default 1 */
  readonly pipeline?: number | undefined;
  /** Nodes that serve the reads. @default "primary" */
  readonly readFrom?: ReadFrom | undefined;
  /**
   * Intended times of requests: `poisson` for random times, as from independent users, or `fixed` for equal distances.
   * @default "poisson"
   */
  readonly arrivals?: Arrivals | undefined;
  /** Distribution of requests over the keys. @default uniform */
  readonly keys?: KeyDistributionArgs | undefined;
  /** Sizes of values. @default 256 bytes each */
  readonly values?: ValueSizesArgs | undefined;
  /** Threads of the load generator. @default 1 */
  readonly workers?: number | undefined;
  /** Time after which the load generator gives up a request, milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
  /**
   * Highest number of requests that wait for a free connection. Further requests are counted but not sent.
   * @default 1000000
   */
  readonly queue?: number | undefined;
}

/** Reads and writes in any ratio. Arguments that the chosen load generator does not have are refused. */
export interface MixedWorkloadArgs extends OpenLoopArgs {
  /**
   * Load generator. `valkey-benchmark` and `memtier` are closed loops: a connection waits for a reply before it sends
   * the next request. `open-loop` sends requests at their intended times. Only `open-loop` has `arrivals`, `keys`,
   * `values`, `workers`, `timeoutMs` and `queue`.
   * @default "valkey-benchmark"
   */
  readonly loadGenerator?: LoadGeneratorName | undefined;
  /**
   * Offered rate of all connections together, requests per second. Required for an open loop.
   * @default unlimited
   */
  readonly rate?: number | undefined;
  /** For closed loops: the value size, bytes. @default 256 */
  readonly dataSize?: number | undefined;
  /** For closed loops: the number of threads of the load generator. @default 1 */
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
  /**
   * Highest number of times that the capacity and the next higher load are offered again, to confirm the result.
   * @default 3
   */
  readonly confirmations?: number | undefined;
}
