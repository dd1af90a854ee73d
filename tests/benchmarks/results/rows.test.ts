import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCsv } from "../../../benchmarks/results/formats/csv";
import { warningNotes, noteLetter } from "../../../benchmarks/warnings/warning-notes";
import { Histogram, mergeCumulativeCounts } from "../../../lib/histogram";
import { formatOpenMetrics } from "../../../benchmarks/results/formats/open-metrics";
import { type ResultRow, compareDeployments, latencyOf, resultRows } from "../../../benchmarks/results/rows";
import { type MeasurementRecord, resultsSchema } from "../../../benchmarks/results/schema";
import { formatSummary } from "../../../benchmarks/results/formats/summary";
import { recordAt, measurementRecord, openLoopCounts, results } from "../../support/benchmarks/records";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

const three = [1, 2, 3].flatMap((round) => [
  recordAt("cluster", round, 200_000 + round, 0.5),
  recordAt("replication", round, 100_000 - round),
]);
const withServers = (changes: Partial<NonNullable<MeasurementRecord["servers"]>>): MeasurementRecord => {
  const base = measurementRecord();
  return { ...base, servers: base.servers === null ? null : { ...base.servers, ...changes } };
};

describe("the comparison of deployments", () => {
  it("has replication first, and the speed-up of the cluster paired by round", () => {
    const { deployments, comparisons } = compareDeployments(results(three));
    expect(deployments).toEqual(["replication", "cluster"]);
    expect(comparisons).toHaveLength(1);
    expect(comparisons[0]?.rows.map((row) => row?.rps.median)).toEqual([99_998, 200_002]);
    expect(comparisons[0]?.speedUp?.low).toBeCloseTo(200_001 / 99_999, 9);
    expect(comparisons[0]?.speedUp?.high).toBeCloseTo(200_003 / 99_997, 9);
  });

  it("leaves a gap without a speed-up where a test was not measured", () => {
    const { comparisons } = compareDeployments(
      results([recordAt("replication", 1, 5), { ...recordAt("cluster", 1, 9), title: "SET" }]),
    );
    expect(comparisons.map(({ rows }) => rows.map((row) => row?.rps.median))).toEqual([
      [5, undefined],
      [undefined, 9],
    ]);
    expect(comparisons.map(({ speedUp }) => speedUp)).toEqual([undefined, undefined]);
  });

  it("has no value of the servers where a repeat lacks it", () => {
    const [row] = resultRows(results([measurementRecord(), { ...measurementRecord({ round: 2 }), servers: null }]));
    expect(row).toMatchObject({ serverRps: null, hitRatio: null, clientCpu: 0.5, serverCpu: 0.95 });
  });
});

describe("the percentiles of a row", () => {
  it("are those of all requests together, not means of the repeats", () => {
    const histogram = (us: number, count: number): string => {
      const one = Histogram.empty();
      one.record(us, count);
      return one.encode();
    };
    // A quiet second and one that was all late: the 99th percentile is the late one's, their mean nobody's.
    const [row] = resultRows(
      results([
        { ...recordAt("cluster", 1, 100), histogram: histogram(1_000, 9_000) },
        { ...recordAt("cluster", 2, 100), histogram: histogram(1_000_000, 1_000) },
      ]),
    );
    expect([row?.p50Ms, row?.p95Ms, row?.p99Ms]).toEqual(
      [1, 1_000, 1_000].map((ms) => expect.closeTo(ms, -1) as number),
    );
    expect(row?.latencies.at(-1)?.count).toBe(10_000);
  });

  it("are between those of the repeats where valkey-benchmark counts in steps, and stay at its limit", () => {
    const counted = (round: number, p50Ms: number): MeasurementRecord => {
      const record = recordAt("cluster", round, 100);
      const percentiles = [{ ms: p50Ms, count: 500 }];
      const cumulative = [
        { ms: 0.303, count: 400 },
        { ms: 0.407, count: 900 },
        { ms: 3000.319, count: 1000 },
      ];
      const client = {
        ...record.client,
        p50Ms,
        p95Ms: 3000.319,
        p99Ms: 3000.319,
        maxMs: 3000.319,
        percentiles,
        cumulative,
      };
      return { ...record, histogram: null, client };
    };
    const [row] = resultRows(results([counted(1, 0.311), counted(2, 0.327), counted(3, 0.335)]));
    expect(row?.p50Ms).toBeGreaterThanOrEqual(0.311);
    expect(row?.p50Ms).toBeLessThan(0.335);
    expect(row?.p99Ms).toBeCloseTo(3000.319, 0);
  });
});

describe("requests that timed out", () => {
  const answered = (ms: number, count: number): string => {
    const histogram = Histogram.empty();
    histogram.record(ms * 1000, count);
    return histogram.encode();
  };
  const timedOut = (changes: Partial<MeasurementRecord> = {}): MeasurementRecord => ({
    ...recordAt("cluster", 1, 100),
    ...{ loadGenerator: "open-loop", rate: 1000, timeoutMs: 1000, histogram: answered(900, 9_400) },
    offering: openLoopCounts(10_000, { unknown: { timeout: 500 }, failed: { unavailable: 100, OOM: 9 } }),
    ...changes,
  });
  const rowOf = (...records: MeasurementRecord[]): ResultRow => resultRows(results(records))[0] as ResultRow;

  it("are slower than all others, and their percentiles are lower bounds", () => {
    const row = rowOf(timedOut());
    expect([row.p50Ms, row.p95Ms, row.p99Ms, row.maxMs]).toEqual([expect.closeTo(900, -1), 1000, 1000, 1000]);
    expect([row.p50Ms, row.p99Ms].map((ms) => latencyOf(row, ms))).toEqual([
      expect.stringMatching(/^90\d/),
      "≥ 1,000 ms",
    ]);
    expect(formatSummary(results([timedOut()])).join("\n")).toContain("p99 ≥ 1,000 ms");
    expect(formatCsv(results([timedOut()]))).toMatch(/,1000\.000,1000\.000,1000\.000,/);
    expect(formatOpenMetrics(results([timedOut()]))).toMatch(/latency_seconds\{.*quantile="0\.99"\} 1 /);
  });

  it("count together with the answers of other repeats, and in older results have the slowest answer as bound", () => {
    const repeat = { ...timedOut({ offering: openLoopCounts(90_600) }), histogram: answered(1, 90_600), round: 2 };
    expect(rowOf(timedOut(), repeat).p99Ms).toBeCloseTo(900, -1);
    expect(rowOf(timedOut(), { ...timedOut(), round: 2 }).p99Ms).toBe(1000);
    const client = { ...recordAt("cluster", 1, 100).client, maxMs: 900 };
    expect(rowOf(timedOut({ timeoutMs: null, client })).p99Ms).toBe(900);
  });
});

describe("mergeCounts", () => {
  const distribution = fc
    .array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 1000 })), {
      minLength: 1,
      maxLength: 20,
    })
    .map((steps) => {
      let count = 0;
      return [...new Map(steps)].sort(([a], [b]) => a - b).map(([ms, more]) => ({ ms, count: (count += more) }));
    });

  it("keeps every request: ascending steps that end at the sum", () => {
    forAll([fc.array(distribution, { minLength: 1, maxLength: 5 })], (all) => {
      const merged = mergeCumulativeCounts(all);
      expect(merged.at(-1)?.count).toBe(all.reduce((sum, counts) => sum + (counts.at(-1)?.count ?? 0), 0));
      for (const { ms, count } of merged)
        expect(count).toBe(
          all.reduce((sum, counts) => sum + (counts.findLast((step) => step.ms <= ms)?.count ?? 0), 0),
        );
    });
  });
});

describe("warnings as notes", () => {
  it("are listed once, with all results that they concern", () => {
    const warningful = three.map((each) => ({
      ...each,
      warnings: [{ code: "too-short" as const, text: `round ${each.round}` }],
    }));
    const notes = warningNotes(resultRows(results(warningful)));
    expect(notes).toEqual([{ code: "too-short", text: "round 1", where: ["GET of replication", "GET of cluster"] }]);
    expect(noteLetter(notes, "too-short")).toBe("a");
  });
});

describe("results as text", () => {
  it("are these: unknown values are empty, what is incomplete is said first, and warnings are named", async () => {
    const unknown: MeasurementRecord = {
      ...{ ...measurementRecord({ servers: null }), title: 'LRANGE "first, 100"' },
      warnings: [
        { code: "servers-unknown", text: "a" },
        { code: "too-short", text: "b" },
      ],
    };
    const misses = {
      ...withServers({ hitRatio: 0.39 }),
      warnings: [{ code: "hit-ratio" as const, text: "61 % of the reads found nothing" }],
    };
    const csv = (...records: MeasurementRecord[]): string[] => formatCsv(results(records)).split("\n");
    const summary = formatSummary(results(three));
    await expectReviewed("benchmarks/summaries", "Results as results.csv and summary.txt.", {
      "one round": csv(recordAt("cluster", 1, 1_000_000, 0.567)),
      "unknown values": csv(unknown),
      "two deployments": csv(...three),
      nothing: csv(),
      "two deployments in words": summary,
      "incomplete, with a warning": formatSummary(results([misses], { complete: false, reason: "stopped by SIGINT" })),
    });
    const table = summary.slice(0, summary.indexOf("=== Warnings ==="));
    expect(table.length).toBeGreaterThan(10);
    expect(table.filter((line) => line.length > 80)).toEqual([]);
  });
});

describe("results.json", () => {
  it("matches its schema, without further keys", () => {
    expect(resultsSchema.parse(results(three))).toEqual(results(three));
    expect(resultsSchema.safeParse({ ...results(three), schema: 2 }).success).toBe(false);
    expect(resultsSchema.safeParse({ ...results(three), password: "x" }).success).toBe(false);
    const client = { ...measurementRecord().client, rps: Number.NaN };
    expect(resultsSchema.safeParse(results([measurementRecord({ client })])).success).toBe(false);
  });
});
