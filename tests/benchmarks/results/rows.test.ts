import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCsv } from "../../../benchmarks/results/formats/csv";
import { warningNotes, noteLetter } from "../../../benchmarks/warnings/warning-notes";
import { Histogram, mergeCumulativeCounts } from "../../../lib/histogram";
import { resultRows, compareDeployments } from "../../../benchmarks/results/rows";
import { type MeasurementRecord, resultsSchema } from "../../../benchmarks/results/schema";
import { formatSummary } from "../../../benchmarks/results/formats/summary";
import { recordAt, measurementRecord, results } from "../../support/benchmarks/records";

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
    fc.assert(
      fc.property(fc.array(distribution, { minLength: 1, maxLength: 5 }), (all) => {
        const merged = mergeCumulativeCounts(all);
        expect(merged.at(-1)?.count).toBe(all.reduce((sum, counts) => sum + (counts.at(-1)?.count ?? 0), 0));
        for (const { ms, count } of merged)
          expect(count).toBe(
            all.reduce((sum, counts) => sum + (counts.findLast((step) => step.ms <= ms)?.count ?? 0), 0),
          );
      }),
    );
  });
});

describe("results.csv", () => {
  it("begins with the nine columns of Valkey on EKS", () => {
    const [head, first] = formatCsv(results([recordAt("cluster", 1, 1_000_000, 0.567)])).split("\n");
    expect(head).toBe(
      "workload,mode,test,rps,p50_ms,clients,pipeline,datasize,timestamp,avg_ms,p95_ms,p99_ms,max_ms,server_rps,hit_ratio,repeats,rps_low,rps_high,client_cpu,server_cpu,usd_per_million,usd_per_gib_month,warnings",
    );
    expect(first).toBe(
      "cluster,cluster,GET,1000000,0.567,48,16,256,20261121-090000,1.000,2.000,3.001,9.000,100200,1.0000,1,1000000,1000000,0.50,0.95,,,",
    );
  });

  it("leaves unknown values empty, quotes values, and names warnings", () => {
    const csv = formatCsv(
      results([
        {
          ...measurementRecord({ servers: null }),
          title: 'LRANGE "first, 100"',
          warnings: [
            { code: "servers-unknown", text: "a" },
            { code: "too-short", text: "b" },
          ],
        },
      ]),
    );
    expect(csv.split("\n")[1]).toMatch(
      /^cluster,cluster,"LRANGE ""first, 100""",.*,9\.000,,,1,.*,servers-unknown too-short$/,
    );
  });

  it("has a row per deployment and test", () => {
    expect(formatCsv(results(three)).trimEnd().split("\n")).toHaveLength(3);
    expect(formatCsv(results([])).trimEnd().split("\n")).toHaveLength(1);
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

describe("summary.txt", () => {
  it("has rates, p50, speed-up and keys of each primary", () => {
    const text = formatSummary(results(three)).join("\n");
    expect(text).toMatch(
      /^=== Side by side ===\nreplication: 1 primary \+ 1 replica\ncluster: 3 primaries \+ 3 replicas\n\nGET\n/,
    );
    expect(text).toMatch(
      /replication +99,998\/s · p50 1\.000 ms · 100 % hits\n +cluster +200,002\/s · p50 0\.500 ms · 100 % hits\n +cluster speed-up +2\.00× \(2\.00 … 2\.00\) · p50 2\.00× lower/,
    );
    expect(text).toContain("75 % confidence");
    const table = text.slice(0, text.indexOf("=== Warnings ==="));
    expect(table.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(text).toMatch(/=== Keys by primary of cluster after the run ===\ncluster-0 +1,000 keys +33\.3 %/);
    expect(text).toContain("None: client and servers report the same rate");
  });

  it("says first of all when it is incomplete, and marks what is given a warning", () => {
    const warningful = {
      ...withServers({ hitRatio: 0.39 }),
      warnings: [{ code: "hit-ratio" as const, text: "61 % of the reads found nothing" }],
    };
    const lines = formatSummary(results([warningful], { complete: false, reason: "stopped by SIGINT" }));
    expect(lines[0]).toBe("INCOMPLETE: stopped by SIGINT");
    expect(lines.join("\n")).toMatch(/cluster +100,000\/s · p50 0\.900 ms · 39 % hits\n +warnings: hit-ratio\n/);
    expect(lines.join("\n")).toContain("\nhit-ratio: 61 % of the reads found nothing (GET of cluster)");
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
