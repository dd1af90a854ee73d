import { describe, expect, it } from "vitest";
import { compareRuns, type RunComparison } from "../../../benchmarks/compare/compare";
import { Histogram } from "../../../lib/histogram";
import { CLOSED_LOOP_NOTE } from "../../../benchmarks/results/formats/study-summary";
import { formatComparison } from "../../../benchmarks/compare/format";
import type { CapacityLoad, CapacityRecord, MeasurementRecord, Results } from "../../../benchmarks/results/schema";
import {
  CAPACITY_LOAD,
  capacityPoint,
  capacityRecord,
  measurementRecord,
  openLoopCounts,
  recordAt,
  results,
} from "../../support/benchmarks/records";

const NOISE = [0, 0.01, -0.01, 0.02, -0.015, 0.005];

/** Six repeats of GET on the cluster at about this rate. */
function run(
  rps: number,
  changes: Partial<MeasurementRecord> = {},
  more: Partial<Results> = {},
  referenceLoad = 1e6,
): Results {
  const records = NOISE.map((noise, index) => ({ ...recordAt("cluster", index + 1, rps * (1 + noise)), ...changes }));
  const referenceLoads = NOISE.map((noise, index) => ({
    round: index + 1,
    rps: referenceLoad * (1 + noise / 3),
    startedAt: "2026-11-21T09:00:00.000Z",
  }));
  return results(records, { referenceLoads, ...more });
}

const judgement = ({ rows }: RunComparison): string | undefined => rows[0]?.judgement;
const base = run(100_000);
const other = (results: Results): RunComparison => compareRuns(base, results);

describe("comparing two runs", () => {
  it("tells a difference from no difference and from too little data", () => {
    expect(judgement(other(run(150_000)))).toBe("faster");
    expect(judgement(other(run(80_000)))).toBe("slower");
    expect(judgement(other(run(100_500)))).toBe("no-difference");
    expect(judgement(compareRuns(base, { ...base, records: base.records.slice(0, 2) }))).toBe("not-enough-data");
    expect(other(run(150_000)).rows[0]?.ratio?.ratio).toBeCloseTo(1.5, 5);
  });

  it("calls a difference noise where the reference load shows it as well", () => {
    expect(judgement(other(run(92_000, {}, {}, 0.9e6)))).toBe("noise");
    expect(judgement(other(run(70_000, {}, {}, 0.9e6)))).toBe("slower");
  });

  it.each<[string, Partial<MeasurementRecord>, string]>([
    ["another value size", { dataSize: 64 }, "value size: 256 B → 64 B"],
    ["another number of keys", { keySpace: 1 }, "keys: 98304 → 1"],
    ["an offered rate", { rate: 5000 }, "rate: full speed → 5000/s offered"],
    [
      "reads that miss",
      {
        servers: {
          ...(measurementRecord().servers ??
            (() => {
              throw new Error();
            })()),
          hitRatio: 0.4,
        },
      },
      "hit ratio: 100 % → 40 %",
    ],
  ])("refuses a ratio of %s", (_what, changes, note) => {
    const [row] = other(run(100_000, changes)).rows;
    expect(row).toMatchObject({ judgement: "other-work", ratio: undefined, notes: [note] });
  });

  it("compares latencies at an offered rate, where throughput is that rate", () => {
    const at = (p99Ms: number, changes: Partial<MeasurementRecord> = {}): Results => {
      const records = NOISE.map((noise, index) => {
        const histogram = Histogram.empty();
        histogram.record(p99Ms * 1000 * (1 + noise), 1000);
        const each = recordAt("cluster", index + 1, 20_000);
        return {
          ...each,
          rate: 20_000,
          histogram: histogram.encode(),
          client: { ...each.client, p99Ms: p99Ms * (1 + noise) },
          ...changes,
        };
      });
      return results(records);
    };
    const offering = openLoopCounts(1, { busy: 0 });
    const [row] = compareRuns(at(1, { offering }), at(60, { offering })).rows;
    expect(row).toMatchObject({
      metric: "p99",
      judgement: "slower",
      valueBefore: expect.closeTo(1.02, 2) as number,
      valueAfter: expect.closeTo(61.2, 0) as number,
      ratio: { ratio: expect.closeTo(60, 1) as number },
      notes: [],
    });
    expect(judgement(compareRuns(at(60), at(1)))).toBe("faster");
    expect(judgement(compareRuns(at(1), at(1)))).toBe("no-difference");
    expect(compareRuns(at(1), at(60, { offering })).rows[0]?.notes).toEqual([CLOSED_LOOP_NOTE]);
    expect(formatComparison(compareRuns(at(1), at(60))).join("\n")).toMatch(
      /GET, p99\s+cluster\s+1\.02\d ms\s+61\.\d ms\s+60\.\d\d×.*slower \[1\]/,
    );
  });

  it("refuses a ratio of different request mixes, and compares results without a recorded mix", () => {
    const mix = {
      data: "strings",
      reads: 0.9,
      readFrom: "primary",
      keys: "uniform",
      values: "fixed bytes=64",
    } as const;
    const notes = (changes: Partial<typeof mix> | { readonly reads: number; readonly keys: string }): unknown =>
      compareRuns(run(100_000, { requestMix: mix }), run(100_000, { requestMix: { ...mix, ...changes } })).rows[0]
        ?.notes;
    expect(notes({ reads: 0.5, keys: "zipfian theta=0.99" })).toEqual([
      "reads: 90 % → 50 %",
      "keys drawn: uniform → zipfian theta=0.99",
    ]);
    expect(notes({})).toEqual([]);
    expect(compareRuns(base, run(100_000, { requestMix: mix })).rows[0]?.notes).toEqual([]);
  });

  it("notes other load generation, and warnings", () => {
    const [row] = other(run(150_000, { clients: 96, warnings: [{ code: "neighbour", text: "others" }] })).rows;
    expect(row?.judgement).toBe("faster");
    expect(row?.notes).toEqual([
      "the load generator differs: clients: 48 → 96",
      "warnings in the second run: neighbour",
    ]);
  });

  it("lists changes of machine, versions, settings and shape", () => {
    const topologies = base.topologies.map((topology) => ({
      ...topology,
      version: "valkey 8.1.1",
      settings: { maxmemory: "1", hz: "10" },
    }));
    const environment = { ...base.environment, kernel: "6.2", coresAvailable: 1 };
    const comparison = other(run(100_000, {}, { topologies, environment }));
    expect(comparison.changes.map(({ what }) => what)).toEqual([
      "machine",
      "system",
      "version of cluster",
      "hz of cluster",
      "maxmemory of cluster",
      "version of replication",
      "hz of replication",
      "maxmemory of replication",
    ]);
    expect(comparison.referenceLoad).toBeUndefined();
    expect(comparison.rows[0]?.notes).toContain(
      "the runs used different machines: the ratio also contains the difference between the machines",
    );
    expect(formatComparison(comparison).join("\n")).toContain("hz of cluster: unknown → 10");
    expect(other(run(1)).changes).toEqual([]);
    expect(formatComparison(other(run(1)))[0]).toContain("Machine, versions, settings and topology are the same");
  });

  it("matches deployments by name, else the only one of a mode, and lists results of one run only", () => {
    const renamed = run(150_000, { deployment: "sharded" });
    const topologies = renamed.topologies.map((topology) =>
      topology.deployment === "cluster" ? { ...topology, deployment: "sharded" } : topology,
    );
    const comparison = other({
      ...renamed,
      topologies,
      records: [...renamed.records, { ...measurementRecord(), deployment: "sharded", title: "INCR", test: "incr" }],
    });
    expect(comparison.rows).toMatchObject([{ before: "cluster", after: "sharded", judgement: "faster" }]);
    expect(comparison.unmatched).toEqual(["INCR of sharded: measured only in the second run"]);
  });

  it("gives the inverse ratio for swapped runs", () => {
    const [forth, back] = [compareRuns(base, run(130_000)), compareRuns(run(130_000), base)];
    expect((forth.rows[0]?.ratio?.ratio ?? 0) * (back.rows[0]?.ratio?.ratio ?? 0)).toBeCloseTo(1, 10);
    expect([judgement(forth), judgement(back)]).toEqual(["faster", "slower"]);
  });
});

describe("comparing capacities", () => {
  const capacity = (held: number, failed: number | undefined, changes: Partial<CapacityRecord> = {}): CapacityRecord =>
    capacityRecord({
      load: CAPACITY_LOAD,
      capacity: held,
      isOpenEnded: failed === undefined,
      points: [capacityPoint(held, 2), ...(failed === undefined ? [] : [capacityPoint(failed, 0)])],
      ...changes,
    });
  const compared = (before: CapacityRecord, after: CapacityRecord, referenceLoad = 1e6): RunComparison =>
    compareRuns(run(1000, {}, { capacities: [before] }), run(1000, {}, { capacities: [after] }, referenceLoad));
  const judged = (...args: Parameters<typeof compared>): string | undefined =>
    compared(...args).capacities[0]?.judgement;

  it("needs a difference beyond the steps of both searches", () => {
    expect(judged(capacity(10_000, 11_000), capacity(13_000, 14_000))).toBe("faster");
    expect(judged(capacity(13_000, 14_000), capacity(10_000, 11_000))).toBe("slower");
    expect(judged(capacity(10_000, 10_200), capacity(10_100, 10_300))).toBe("no-difference");
    // Steps of ten and of a hundred percent leave more open than the five that are asked for.
    expect(judged(capacity(10_000, 11_000), capacity(10_500, 11_500))).toBe("not-enough-data");
    expect(judged(capacity(10_000, 20_000), capacity(16_000, 32_000))).toBe("not-enough-data");
    expect(
      compareRuns(
        run(1000, {}, { capacities: [capacity(10_000, 11_000)] }),
        run(1000, {}, { capacities: [capacity(10_500, 11_500)] }),
        0.1,
      ).capacities[0]?.judgement,
    ).toBe("no-difference");
    expect(compared(capacity(10_000, 11_000), capacity(13_000, 14_000)).capacities[0]?.bounds).toEqual({
      ratio: 1.3,
      low: 13 / 11,
      high: 1.4,
    });
  });

  it("has one bound where a search is open-ended, and none where no rate met the objective", () => {
    expect(judged(capacity(10_000, 11_000), capacity(20_000, undefined))).toBe("faster");
    expect(judged(capacity(10_000, undefined), capacity(20_000, undefined))).toBe("not-enough-data");
    expect(judged(capacity(10_000, undefined), capacity(5000, 6000))).toBe("slower");
    expect(judged(capacity(10_000, 11_000), capacity(0, 1000))).toBe("not-enough-data");
  });

  it("calls a difference noise where the reference load shows it as well", () => {
    expect(judged(capacity(10_000, 10_100), capacity(9000, 9100), 0.85e6)).toBe("noise");
  });

  it("bounds a capacity by the lowest rate that missed the objective", () => {
    const wavering = capacity(10_000, undefined, {
      isOpenEnded: false,
      points: [capacityPoint(10_000, 2), capacityPoint(11_000, 2), capacityPoint(12_000, 1)],
    });
    expect(compared(wavering, wavering).capacities[0]?.bounds).toMatchObject({ low: 10 / 12, high: 1.2 });
  });

  it("has no ratio for another objective", () => {
    expect(
      compared(capacity(10_000, 11_000), capacity(13_000, 14_000, { objective: { quantile: 0.99, ms: 5 } }))
        .capacities[0],
    ).toMatchObject({
      judgement: "other-work",
      bounds: undefined,
      workDifferences: [{ what: "objective", before: "p99 ≤ 2 ms", after: "p99 ≤ 5 ms" }],
      notes: [],
    });
  });

  it.each<[string, Partial<CapacityLoad>]>([
    ["reads", { requestMix: { ...CAPACITY_LOAD.requestMix, reads: 0.5 } }],
    ["keys drawn", { requestMix: { ...CAPACITY_LOAD.requestMix, keys: "zipfian theta=0.99" } }],
    ["arrivals", { arrivals: "poisson" }],
    ["value size", { dataSize: 4096 }],
    ["keys", { keySpace: 5 }],
  ])("has no ratio for another load of the same name: other %s", (what, changes) => {
    expect(
      compared(capacity(10_000, 11_000), capacity(20_000, 21_000, { load: { ...CAPACITY_LOAD, ...changes } }))
        .capacities[0],
    ).toMatchObject({ judgement: "other-work", bounds: undefined, workDifferences: [{ what }] });
  });

  it("notes other load generation, another machine, warnings, and a load without a record", () => {
    const notes = (after: Partial<CapacityRecord>, environment = base.environment): readonly string[] | undefined =>
      compareRuns(
        run(1000, {}, { capacities: [capacity(10_000, 11_000)] }),
        run(1000, {}, { capacities: [capacity(20_000, 21_000, after)], environment }),
      ).capacities[0]?.notes;
    expect(notes({})).toEqual([]);
    expect(notes({ load: { ...CAPACITY_LOAD, clients: 200, pipeline: 16, runners: 4 } })).toEqual([
      "the load generator differs: clients: 50 → 200",
      "the load generator differs: pipeline: 1 → 16",
      "the load generator differs: load generators: 1 → 4",
    ]);
    expect(notes({ load: null })).toEqual([
      "there is no record of the load in the second run, so the loads may differ",
    ]);
    expect(notes({ warnings: [{ code: "generator-late", text: "late" }] })).toEqual([
      "warnings in the second run: generator-late",
    ]);
    expect(notes({}, { ...base.environment, hostname: "there" })).toEqual([
      "the runs used different machines: the ratio also contains the difference between the machines",
    ]);
  });

  it("prints them, and names those that only one run has", () => {
    const lines = formatComparison(compared(capacity(10_000, 11_000), capacity(20_000, undefined)));
    expect(lines.join("\n")).toMatch(
      /steady, p99 ≤ 2 ms\s+cluster\s+10,000\/s\s+≥ 20,000\/s\s+2\.00×\s+\(1\.82 … \?\)\s+faster/,
    );
    expect(compared(capacity(10_000, 11_000), capacity(10_000, 11_000, { workload: "other" })).unmatched).toEqual([
      "capacity of cluster for steady at p99 ≤ 2 ms: measured only in the first run",
      "capacity of cluster for other at p99 ≤ 2 ms: measured only in the second run",
    ]);
  });
});
