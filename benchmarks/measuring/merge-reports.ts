/** Reports of several load generators as one. Counts are added; percentiles cannot be, and are read off the sum. Pure. */
import { mergeCounts } from "../results/rows";
import type { CumulativeCount, ToolReport } from "../valkey-benchmark/output";

/**
 * What the load generators did together. Rates are added, which is the rate over the time they have in common;
 * the seconds are those in which all requests take place at that rate. A percentile is the least latency that is known
 * to hold for so many: at most one step of the tool's own distribution too high.
 * @param reports at least one; one alone is returned as it is
 */
export function mergeReports(reports: readonly ToolReport[]): ToolReport {
  const [first] = reports;
  if (first === undefined) throw new Error("no reports");
  if (reports.length === 1) return first;
  const sum = (figure: (report: ToolReport) => number): number => reports.reduce((total, report) => total + figure(report), 0);
  const requests = sum((report) => report.requests);
  const rate = sum((report) => report.rate);
  const finest = mergeCounts(reports.map(allCounts));
  const maxMs = Math.max(...reports.map((report) => report.maxMs));
  // What is under way when the time is up is among the requests, and in no distribution.
  const counted = finest.at(-1)?.count ?? 0;
  const at = (part: number): number => Math.min(maxMs, latencyAt(finest, part * counted));
  return {
    title: first.title,
    requests,
    rate,
    seconds: requests / rate,
    avgMs: sum((report) => report.avgMs * report.requests) / requests,
    minMs: Math.min(...reports.map((report) => report.minMs)),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    maxMs,
    percentiles: percentilesOf(finest, counted),
    cumulative: mergeCounts(reports.map(({ cumulative }) => cumulative)),
  };
}

/** Every latency at which the tool says how many requests took at most as long, from both of its distributions. */
function allCounts({ percentiles, cumulative }: ToolReport): CumulativeCount[] {
  const counts = new Map<number, number>();
  for (const { ms, count } of [...percentiles, ...cumulative]) counts.set(ms, Math.max(count, counts.get(ms) ?? 0));
  let most = 0;
  return [...counts].sort(([a], [b]) => a - b).map(([ms, count]) => ({ ms, count: (most = Math.max(most, count)) }));
}

function latencyAt(counts: readonly CumulativeCount[], wanted: number): number {
  return (counts.find(({ count }) => count >= wanted) ?? counts.at(-1))?.ms ?? 0;
}

/** At the parts that the tool's own table has: half of what is left each time. */
function percentilesOf(counts: readonly CumulativeCount[], counted: number): CumulativeCount[] {
  const steps = new Map<number, CumulativeCount>();
  for (let left = 1; left * counted >= 0.5; left /= 2) {
    const step = counts.find(({ count }) => count >= (1 - left) * counted && count > 0);
    if (step !== undefined) steps.set(step.ms, step);
  }
  const last = counts.at(-1);
  if (last !== undefined) steps.set(last.ms, last);
  return [...steps.values()];
}
