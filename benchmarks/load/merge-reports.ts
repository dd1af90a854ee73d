/** Reports of several load generators as one. Counts are added; percentiles cannot be, and are read off the sum. Pure. */
import type { CumulativeCount } from "../../lib/histogram";
import { Histogram, mergeCumulativeCounts } from "../../lib/histogram";
import type { LoadReport } from "./valkey-benchmark/output";

/**
 * What load generators did together. Rates are added, which is the rate over the time they have in common;
 * the seconds are those in which all requests take place at that rate. A percentile is the least latency that is known
 * to hold for so many: at most one step of the tool's own distribution too high.
 * @param reports at least one; one alone is returned as it is
 */
export function mergeReports(reports: readonly LoadReport[]): LoadReport {
  const [first] = reports;
  if (first === undefined) throw new Error("no reports");
  if (reports.length === 1) return first;
  const sum = (figure: (report: LoadReport) => number): number =>
    reports.reduce((total, report) => total + figure(report), 0);
  const requests = sum((report) => report.requests);
  const rate = sum((report) => report.rate);
  // What is under way when the time is up is among the requests, and in no distribution.
  const latencies = Histogram.merge(reports.map(latencyHistogram));
  return {
    ...latencySummary(first.title, latencies),
    requests,
    rate,
    seconds: requests / rate,
    avgMs: sum((report) => report.avgMs * report.requests) / requests,
    minMs: Math.min(...reports.map((report) => report.minMs)),
    cumulative: mergeCumulativeCounts(reports.map(({ cumulative }) => cumulative)),
  };
}

/** What valkey-benchmark says of latencies, as a histogram: each request counts as the least step that it is known not to exceed. */
export function latencyHistogram({
  percentiles,
  cumulative,
  p50Ms,
  p95Ms,
  p99Ms,
  maxMs,
}: Pick<LoadReport, "percentiles" | "cumulative" | "p50Ms" | "p95Ms" | "p99Ms" | "maxMs">): Histogram {
  const counted = Math.max(0, ...[...percentiles, ...cumulative].map(({ count }) => count));
  const at = (ms: number, part: number): CumulativeCount => ({ ms, count: Math.ceil(part * counted) });
  const known = [...percentiles, ...cumulative, at(p50Ms, 0.5), at(p95Ms, 0.95), at(p99Ms, 0.99)].map(
    ({ ms, count }) => ({ ms: Math.min(ms, maxMs), count }),
  );
  return Histogram.fromCumulative(known);
}

/** The part of a report that latencies decide. */
export function latencySummary(title: string, latencies: Histogram): Omit<LoadReport, "requests" | "rate" | "seconds"> {
  return {
    title,
    avgMs: latencies.meanMs,
    minMs: latencies.minMs,
    p50Ms: latencies.percentileMs(0.5),
    p95Ms: latencies.percentileMs(0.95),
    p99Ms: latencies.percentileMs(0.99),
    maxMs: latencies.maxMs,
    percentiles: latencies.percentiles(),
    cumulative: latencies.tailSteps(),
  };
}
