import { type CumulativeCount, Histogram } from "../../lib/histogram";

interface LatencyCounts {
  /** Requests up to each latency: here of some percentiles, in `cumulative` in fixed steps. */
  readonly percentiles: readonly CumulativeCount[];
  readonly cumulative: readonly CumulativeCount[];
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export function latencyHistogram({ percentiles, cumulative, p50Ms, p95Ms, p99Ms, maxMs }: LatencyCounts): Histogram {
  const counted = Math.max(0, ...[...percentiles, ...cumulative].map(({ count }) => count));
  const at = (ms: number, quantile: number): CumulativeCount => ({ ms, count: Math.ceil(quantile * counted) });
  const known = [...percentiles, ...cumulative, at(p50Ms, 0.5), at(p95Ms, 0.95), at(p99Ms, 0.99)].map(
    ({ ms, count }) => ({ ms: Math.min(ms, maxMs), count }),
  );
  return Histogram.fromCumulative(known);
}
