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

/** Width of the steps in which valkey-benchmark counts, milliseconds: finer up to FINE_TO_MS. */
const [FINE_MS, COARSE_MS, FINE_TO_MS] = [0.1, 1, 2.1] as const;
const PARTS = 100;

export function latencyHistogram({ percentiles, cumulative, p50Ms, p95Ms, p99Ms, maxMs }: LatencyCounts): Histogram {
  const counted = Math.max(0, ...[...percentiles, ...cumulative].map(({ count }) => count));
  const at = (ms: number, quantile: number): CumulativeCount => ({ ms, count: Math.ceil(quantile * counted) });
  const known = [...percentiles, ...cumulative, at(p50Ms, 0.5), at(p95Ms, 0.95), at(p99Ms, 0.99)].map(
    ({ ms, count }) => ({ ms: Math.min(ms, maxMs), count }),
  );
  return Histogram.fromCumulative(spread(known.sort((a, b) => a.ms - b.ms || a.count - b.count)));
}

/** Spreads the requests of a step evenly over its width. Those of the last step stay: they may be at a limit of the tool. */
function spread(known: readonly CumulativeCount[]): CumulativeCount[] {
  const last = known.at(-1)?.ms;
  return known.flatMap((to, index) => {
    const from = known[index - 1];
    const added = to.count - (from?.count ?? 0);
    if (from === undefined || to.ms === last || added <= 0) return [to];
    const width = Math.min(to.ms - from.ms, to.ms > FINE_TO_MS ? COARSE_MS : FINE_MS);
    return Array.from({ length: PARTS }, (_, part) => ({
      ms: to.ms - width * (1 - (part + 1) / PARTS),
      count: from.count + Math.floor((added * (part + 1)) / PARTS),
    }));
  });
}
