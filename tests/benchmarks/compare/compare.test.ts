import { describe, expect, it } from "vitest";
import { compareRuns, type RunComparison } from "../../../benchmarks/compare/compare";
import { Histogram } from "../../../lib/histogram";
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
import { expectReviewed } from "../../support/reviewed";

const SERVERS = measurementRecord().servers as NonNullable<MeasurementRecord["servers"]>;
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

  /** Six rounds at an offered rate with this p99. */
  const at = (p99Ms: number, changes: Partial<MeasurementRecord> = {}): Results => {
    const records = NOISE.map((noise, index) => {
      const histogram = Histogram.empty();
      histogram.record(p99Ms * 1000 * (1 + noise), 1000);
      const each = recordAt("cluster", index + 1, 20_000);
      const client = { ...each.client, p99Ms: p99Ms * (1 + noise) };
      return { ...each, rate: 20_000, histogram: histogram.encode(), client, ...changes };
    });
    return results(records);
  };
  const offering = openLoopCounts(1, { busy: 0 });
  const timedOut = {
    offering: openLoopCounts(1050, { unknown: { timeout: 50 } }),
    ...({ loadGenerator: "open-loop", timeoutMs: 1000 } as const),
  };
  const { requestMix } = CAPACITY_LOAD;
  const mixed = (changes: Partial<typeof requestMix>): RunComparison =>
    compareRuns(run(100_000, { requestMix }), run(100_000, { requestMix: { ...requestMix, ...changes } }));

  it("says what differs, and has no ratio of different work", async () => {
    const topologies = base.topologies.map((topology) => ({
      ...{ ...topology, version: "valkey 8.1.1", settings: { maxmemory: "1", hz: "10" } },
    }));
    const elsewhere = base.topologies.map((topology) => ({
      ...topology,
      nodes: topology.nodes.map((node) => ({ ...node, machine: "10.0.0.2" })),
    }));
    const environment = { ...base.environment, kernel: "6.2", coresAvailable: 1 };
    const renamed = run(150_000, { deployment: "sharded" });
    const sharded = renamed.topologies.map((topology) =>
      topology.deployment === "cluster" ? { ...topology, deployment: "sharded" } : topology,
    );
    const only = { ...measurementRecord(), deployment: "sharded", title: "INCR", test: "incr" };
    const comparisons: Readonly<Record<string, RunComparison>> = {
      "another value size": other(run(100_000, { dataSize: 64 })),
      "another number of keys": other(run(100_000, { keySpace: 1 })),
      "an offered rate": other(run(100_000, { rate: 5000 })),
      "reads that miss": other(run(100_000, { servers: { ...SERVERS, hitRatio: 0.4 } })),
      "latencies at an offered rate of open loops": compareRuns(at(1, { offering }), at(60, { offering })),
      "latencies at an offered rate of closed loops": compareRuns(at(1), at(60)),
      "latencies of a closed loop and of an open one": compareRuns(at(1), at(60, { offering })),
      "latencies of closed loops at the limit of the load generator": compareRuns(at(3000.4), at(3000.4)),
      "a latency of an open loop, then requests that timed out": compareRuns(
        at(1, { ...timedOut, offering }),
        at(60, timedOut),
      ),
      "requests that timed out, then a latency that is higher than that time": compareRuns(
        at(1, timedOut),
        at(2000, { ...timedOut, offering }),
      ),
      "lower latencies": compareRuns(at(60), at(1)),
      "the same latencies": compareRuns(at(1), at(1)),
      "another request mix": mixed({ reads: 0.5, keys: "zipfian theta=0.99" }),
      "the same request mix": mixed({}),
      "a request mix that one run has not recorded": other(run(100_000, { requestMix })),
      "other load generation, with a warning": other(
        run(150_000, { clients: 96, warnings: [{ code: "neighbour", text: "others" }] }),
      ),
      "another machine, version and settings": other(run(100_000, {}, { topologies, environment })),
      "the same machine, version and settings": other(run(1)),
      "servers on other hosts": other(run(100_000, {}, { topologies: elsewhere })),
      "a deployment by another name, with a test more": other({
        ...{ ...renamed, topologies: sharded, records: [...renamed.records, only] },
      }),
    };
    await expectReviewed(
      "benchmarks/comparisons",
      "What is said of two runs.",
      Object.entries(comparisons).map(([what, each]) => [what, formatComparison(each)] as const),
    );
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

  it("says what differs, and has no ratio of other loads or objectives", async () => {
    const [before, faster] = [capacity(10_000, 11_000), { held: 20_000, failed: 21_000 }];
    const after = (changes: Partial<CapacityRecord>): RunComparison =>
      compared(before, capacity(faster.held, faster.failed, changes));
    const load = (changes: Partial<CapacityLoad>): RunComparison => after({ load: { ...CAPACITY_LOAD, ...changes } });
    const { requestMix } = CAPACITY_LOAD;
    const environment = { ...base.environment, hostname: "there" };
    const comparisons: Readonly<Record<string, RunComparison>> = {
      "another objective": after({ objective: { quantile: 0.99, ms: 5 } }),
      "other reads": load({ requestMix: { ...requestMix, reads: 0.5 } }),
      "other keys": load({ requestMix: { ...requestMix, keys: "zipfian theta=0.99" } }),
      "other arrivals": load({ arrivals: "poisson" }),
      "another value size": load({ dataSize: 4096 }),
      "another number of keys": load({ keySpace: 5 }),
      "other load generation": load({ clients: 200, pipeline: 16, runners: 4 }),
      "a load without a record": after({ load: null }),
      "a warning": after({ warnings: [{ code: "generator-late", text: "late" }] }),
      "another machine": compareRuns(
        run(1000, {}, { capacities: [before] }),
        run(1000, {}, { capacities: [capacity(faster.held, faster.failed)], environment }),
      ),
      "a search that is open-ended": compared(before, capacity(20_000, undefined)),
      "another workload": after({ workload: "other" }),
    };
    await expectReviewed(
      "benchmarks/capacities",
      "What is said of two searches for a capacity.",
      Object.entries(comparisons).map(([what, each]) => [what, formatComparison(each)] as const),
    );
  });
});
