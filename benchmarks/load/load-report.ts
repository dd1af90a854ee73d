/** The results that every load generator reports, as a type. */
import type { CumulativeCount } from "../../lib/histogram";

/**
 * Results of one run of a load generator. Latencies are in milliseconds. With a pipeline, a latency is the time of a
 * whole batch of requests.
 */
export interface LoadReport {
  readonly title: string;
  readonly requests: number;
  /** Requests per second during the run. */
  readonly rate: number;
  /**
   * Duration of the run, seconds. It is computed from the number of requests and the rate, because valkey-benchmark
   * prints the duration with fewer digits than these two values.
   */
  readonly seconds: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Number of requests with at most each latency, ascending, from "Latency by percentile distribution". */
  readonly percentiles: readonly CumulativeCount[];
  /**
   * Number of requests with at most each latency, from "Cumulative distribution of latencies". The steps are 0.1 ms up
   * to 2 ms, and 1 ms above. Steps at which the number does not change are absent.
   */
  readonly cumulative: readonly CumulativeCount[];
}
