import { Histogram, mergeCumulativeCounts } from "../../lib/histogram";
import { latencyHistogram } from "../results/latency-histogram";
import type { OpenLoopCounts } from "../results/schema";
import type { LoadReport } from "./load-driver";
import type { Tally } from "./tally";

/**
 * The sum of rates is correct for the time in which all run. A percentile is too high by at most one step of
 * valkey-benchmark's distribution.
 * @param reports at least one report
 */
export function mergeReports(reports: readonly LoadReport[]): LoadReport {
  const [first] = reports;
  if (first === undefined) throw new Error("no reports");
  if (reports.length === 1) return first;
  const sum = (figure: (report: LoadReport) => number): number =>
    reports.reduce((total, report) => total + figure(report), 0);
  const requests = sum((report) => report.requests);
  const rate = sum((report) => report.rate);
  // Requests that are in flight at the end are counted, but have no latency.
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

export function openLoopReport(tally: Tally, title: string): LoadReport {
  const seconds = Math.max(tally.toMs - tally.fromMs, 1) / 1000;
  return {
    ...latencySummary(title, tally.latencies()),
    requests: tally.acknowledged,
    rate: tally.acknowledged / seconds,
    seconds,
  };
}

/** @param seconds duration of the measurement */
export function openLoopCounts(tally: Tally, seconds: number): OpenLoopCounts {
  const { offered, sent, acknowledged, failed, unknown, redirects, reconnects, mostInFlight, lag, busySeconds } = tally;
  return {
    offered,
    sent,
    acknowledged,
    failed,
    unknown,
    redirects,
    reconnects,
    mostInFlight,
    lagP50Ms: lag.percentileMs(0.5),
    lagP99Ms: lag.percentileMs(0.99),
    lagMaxMs: lag.maxMs,
    lag: lag.encode(),
    busy: busySeconds / seconds,
  };
}
