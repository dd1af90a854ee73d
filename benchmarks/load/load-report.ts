/** Report of a load generator. */
import type { CumulativeCount } from "../../lib/histogram";

/**
 * Results of one run of a load generator. Latencies are in milliseconds. With a pipeline, a latency is the time of a
 * whole batch.
 */
export interface LoadReport {
  readonly title: string;
  readonly requests: number;
  /** Requests per second. */
  readonly rate: number;
  /**
   * Duration of the run, seconds. It is computed from count and rate, which valkey-benchmark prints with more digits.
   */
  readonly seconds: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Counts by latency from "Latency by percentile distribution", ascending. */
  readonly percentiles: readonly CumulativeCount[];
  /**
   * Counts by latency from "Cumulative distribution of latencies": every 0.1 ms up to 2 ms, then every 1 ms. Steps
   * without a change are absent.
   */
  readonly cumulative: readonly CumulativeCount[];
}
