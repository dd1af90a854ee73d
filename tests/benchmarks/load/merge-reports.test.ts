import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeReports } from "../../../benchmarks/load/merge-reports";
import type { CumulativeCount } from "../../../lib/histogram";
import type { LoadReport } from "../../../benchmarks/load/load-driver";
import { parseReports } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import { fixture } from "../../support/fixtures";
import { forAll } from "../../support/properties";

/** The tool's steps: every 0.1 ms up to 2 ms, then every 1 ms. */
const STEPS = [
  ...Array.from({ length: 20 }, (_, i) => (i + 1) / 10),
  ...Array.from({ length: 3000 }, (_, i) => 3 + i),
].map((ms) => Number((ms + 0.003).toFixed(3)));

interface Run {
  /** Microseconds. */
  readonly latencies: readonly number[];
  readonly seconds: number;
  /** Requests that were sent, and not answered when the time was up: the tool counts them, and times them not. */
  readonly underWay: number;
}

/** A report as the tool makes it of latencies in microseconds. */
function reportOf({ latencies, seconds, underWay }: Run): LoadReport {
  const sorted = latencies.map((us) => us / 1000).sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0;
  const until = (ms: number): number => sorted.filter((each) => each <= ms).length;
  const maxMs = at(1);
  const cumulative: CumulativeCount[] = [];
  for (const ms of STEPS) {
    const count = until(ms);
    if (count > (cumulative.at(-1)?.count ?? 0)) cumulative.push({ ms, count });
    if (count === sorted.length) break;
  }
  const percentiles = [0.5, 0.75, 0.875, 0.9375, 1].map((part) => ({ ms: at(part), count: until(at(part)) }));
  const requests = sorted.length + underWay;
  return {
    title: "SET",
    requests,
    rate: requests / seconds,
    seconds,
    avgMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    minMs: sorted[0] ?? 0,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    maxMs,
    percentiles,
    cumulative,
  };
}

const latencies = fc.array(fc.integer({ min: 10, max: 60_000 }), { minLength: 1, maxLength: 80 });
const runs: fc.Arbitrary<Run[]> = fc.array(
  fc.record({
    latencies,
    seconds: fc.double({ min: 1, max: 20, noNaN: true }),
    underWay: fc.integer({ min: 0, max: 9 }),
  }),
  { minLength: 1, maxLength: 5 },
);

describe("reports of several load generators", () => {
  it("keep every request, add rates, and weigh averages by requests", () => {
    forAll([runs], (each) => {
      const merged = mergeReports(each.map((run) => reportOf(run)));
      const all = each.flatMap((run) => run.latencies);
      const requests = (run: Run): number => run.latencies.length + run.underWay;
      expect(merged.requests).toBe(each.reduce((sum, run) => sum + requests(run), 0));
      expect(merged.cumulative.at(-1)?.count).toBe(all.length);
      expect(merged.rate).toBeCloseTo(
        each.reduce((sum, run) => sum + requests(run) / run.seconds, 0),
        6,
      );
      expect(merged.requests / merged.seconds).toBeCloseTo(merged.rate, 6);
      const averages = each.map((run) => ({ requests: requests(run), avgMs: reportOf(run).avgMs }));
      expect(merged.avgMs).toBeCloseTo(
        averages.reduce((sum, run) => sum + run.avgMs * run.requests, 0) / merged.requests,
        6,
      );
      expect([merged.minMs, merged.maxMs]).toEqual([Math.min(...all) / 1000, Math.max(...all) / 1000]);
    });
  });

  it("have cumulative counts that are exact at every step of the tool's", () => {
    forAll([runs], (each) => {
      const all = each.flatMap((run) => run.latencies);
      for (const { ms, count } of mergeReports(each.map((run) => reportOf(run))).cumulative) {
        expect(count).toBe(all.filter((us) => us / 1000 <= ms).length);
      }
    });
  });

  it("have percentiles that are never too low and at most one step of the tool's too high", () => {
    forAll([runs], (each) => {
      const merged = mergeReports(each.map((run) => reportOf(run)));
      const sorted = each
        .flatMap((run) => run.latencies)
        .map((us) => us / 1000)
        .sort((a, b) => a - b);
      for (const [part, found] of [
        [0.5, merged.p50Ms],
        [0.95, merged.p95Ms],
        [0.99, merged.p99Ms],
      ] as const) {
        const exact = sorted[Math.ceil(part * sorted.length) - 1] ?? 0;
        expect(found).toBeGreaterThanOrEqual(exact);
        // And the width of a bucket.
        expect(found).toBeLessThanOrEqual((STEPS.find((ms) => ms >= exact) ?? Infinity) * 1.001 + 0.001);
      }
      expect(merged.p50Ms <= merged.p95Ms && merged.p95Ms <= merged.p99Ms && merged.p99Ms <= merged.maxMs).toBe(true);
    });
  });

  it("are as they are when there is one, and do not depend on their order", () => {
    forAll([runs], (each) => {
      const reports = each.map((run) => reportOf(run));
      const [first] = reports;
      if (first !== undefined) expect(mergeReports([first])).toBe(first);
      const { rate, avgMs, seconds, ...counts } = mergeReports(reports);
      const backwards = mergeReports([...reports].reverse());
      expect(backwards).toMatchObject(counts);
      for (const [one, other] of [
        [rate, backwards.rate],
        [avgMs, backwards.avgMs],
        [seconds, backwards.seconds],
      ] as const)
        expect(one).toBeCloseTo(other, 6);
    });
  });

  it("of the real tool add up as well", () => {
    const [report] = parseReports(fixture("valkey-benchmark-9.1-cluster"));
    if (report === undefined) throw new Error("the fixture has no report");
    const merged = mergeReports([report, report]);
    expect(merged).toMatchObject({
      requests: 2 * report.requests,
      minMs: report.minMs,
      maxMs: report.maxMs,
      p50Ms: report.p50Ms,
    });
    expect(merged.cumulative).toEqual(report.cumulative.map(({ ms, count }) => ({ ms, count: 2 * count })));
    expect(merged.p99Ms).toBeGreaterThanOrEqual(report.p99Ms);
  });
});
