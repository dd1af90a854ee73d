import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SustainedRate, sustainedRate, mixedCapacity } from "../../../benchmarks/recommend/capacity";
import { formatRecommendation, recommend } from "../../../benchmarks/recommend/recommend";
import type { Requirements, PricedMachine } from "../../../benchmarks/recommend/recommendation";
import type { CapacityLoad, CapacityRecord, MeasurementRecord, Results } from "../../../benchmarks/results/schema";
import { CAPACITY_LOAD, capacityRecord, recordAt, results } from "../../support/benchmarks/records";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

const GIB = 1024 ** 3;
const OFFERS: readonly PricedMachine[] = [
  { type: "small", architecture: "amd64", vcpus: 2, memoryBytes: 14 * GIB, usdPerHour: 0.1 },
  { type: "large", architecture: "amd64", vcpus: 8, memoryBytes: 58 * GIB, usdPerHour: 0.42 },
];
const MACHINE = {
  ...{ name: "a", zone: null, instanceType: null, cores: 2, memoryBytes: 1 },
  ...{ platform: "", kernel: "", system: "", kubelet: "" },
};
const NEED: Requirements = {
  ...{ rate: 50_000, reads: 0.9, workingSet: 2 * GIB, valueSize: 256, pipeline: 16, p99Ms: undefined, replicas: 1 },
};

/** Six rounds of each test on one primary, at exactly this rate. */
function run(rates: Readonly<Record<string, number>>, changes: Partial<MeasurementRecord> = {}): Results {
  const records = [1, 2, 3, 4, 5, 6].flatMap((round) =>
    Object.entries(rates).map(([test, rps]) => ({
      ...recordAt("replication", round, rps),
      test,
      title: test.toUpperCase(),
      ...changes,
    })),
  );
  return results(records);
}

const MEASURED = run({ get: 200_000, set: 100_000 });
const first = (
  need: Partial<Requirements>,
  from = MEASURED,
): ReturnType<typeof recommend>["options"][number] | undefined =>
  recommend({ ...NEED, ...need }, [from], OFFERS).options[0];

const LOAD: CapacityLoad = {
  ...CAPACITY_LOAD,
  requestMix: { ...CAPACITY_LOAD.requestMix, values: "fixed bytes=256" },
  dataSize: 256,
  pipeline: 16,
};
/** A capacity at p99 ≤ 1 ms that was measured on one primary. */
const capacityOf = (changes: Partial<CapacityRecord>): CapacityRecord =>
  capacityRecord({
    deployment: "replication",
    mode: "replication",
    workload: "mixed",
    load: LOAD,
    objective: { quantile: 0.99, ms: 1 },
    capacity: 20_000,
    ...changes,
  });

describe("a recommendation", () => {
  it("takes replication while one primary serves it and holds it, and a cluster of three or more beyond", () => {
    // 0.9 / 200,000 + 0.1 / 100,000 seconds each: 181,818/s, of which 70 % are 127,272/s.
    expect(first({})).toMatchObject({ mode: "replication", primaries: 1, machine: { type: "small" }, ioThreads: 1 });
    expect(first({ rate: 127_000 })?.primaries).toBe(1);
    expect(first({ rate: 128_000 })).toMatchObject({ mode: "cluster", primaries: 3 });
    expect(first({ rate: 1_000_000 })).toMatchObject({ mode: "cluster", primaries: 8 });
    // Memory alone, 34.6 GiB: one large machine for less than five small ones, a replica each.
    expect(first({ workingSet: 23 * GIB })).toMatchObject({ mode: "replication", machine: { type: "large" } });
    expect(first({ workingSet: 200 * GIB })?.mode).toBe("cluster");
  });

  it("keeps a latency objective, and says when no use of a primary would", () => {
    const single = run({ get: 200_000, set: 100_000 }, { pipeline: 1 });
    expect(first({ p99Ms: 1, rate: 50_000, pipeline: 1 }, single)?.primaries).toBe(1);
    // 181,818 − ln(100) / 0.05 ms = 89,714/s.
    expect(first({ p99Ms: 0.05, rate: 89_000, pipeline: 1 }, single)?.primaries).toBe(1);
    expect(first({ p99Ms: 0.05, rate: 90_500, pipeline: 1 }, single)?.primaries).toBe(3);
    // Sixteen at a time wait for sixteen: 181,818 − 16 ln(100) / 0.8 ms is the same.
    expect(first({ p99Ms: 0.8, rate: 89_000 })?.primaries).toBe(1);
    expect(first({ p99Ms: 0.8, rate: 90_500 })?.primaries).toBe(3);
    const impossible = recommend({ ...NEED, pipeline: 1, p99Ms: 0.02 }, [single], OFFERS);
    expect(impossible.options).toEqual([]);
    expect(impossible.missing[0]).toContain("cannot meet p99 ≤ 0.02 ms at any load");
  });

  it("goes by a capacity that was measured under the objective, rather than by a model", () => {
    const capacity = capacityOf({ load: null, capacity: 40_000 });
    const held = {
      ...MEASURED,
      capacities: [capacity, { ...capacity, objective: { quantile: 0.99, ms: 5 }, capacity: 90_000 }],
    };
    expect(first({ p99Ms: 1, rate: 39_000 }, held)?.primaries).toBe(1);
    expect(first({ p99Ms: 1, rate: 41_000 }, held)?.primaries).toBe(3);
    expect(first({ p99Ms: 10, rate: 89_000 }, held)?.primaries).toBe(1);
    expect(recommend({ ...NEED, p99Ms: 1 }, [held], OFFERS).arithmetic.join("\n")).toContain(
      "p99 ≤ 1 ms, measured: mixed of replication",
    );
  });

  it("takes a measured capacity for an answer only where its load is like the one that is needed", () => {
    const held = (changes: Partial<CapacityLoad>): SustainedRate | undefined => {
      const warnings = [{ code: "generator-late" as const, text: "late" }];
      const capacity = capacityOf({ load: { ...LOAD, ...changes }, capacity: 130_000, warnings });
      return sustainedRate([{ ...MEASURED, capacities: [capacity] }], { ...NEED, p99Ms: 1, ioThreads: 1 });
    };
    expect(held({})).toMatchObject({
      perPrimary: 130_000,
      load: expect.anything() as CapacityLoad,
      source: expect.stringContaining("(warnings: generator-late)") as string,
    });
    expect(held({ pipeline: 1 })).toBeUndefined();
    expect(held({ dataSize: 1 })).toBeUndefined();
    expect(held({ requestMix: { ...LOAD.requestMix, reads: 0.5 } })).toBeUndefined();
    expect(held({ requestMix: { ...LOAD.requestMix, readFrom: "replica" } })).toBeUndefined();
    expect(held({ requestMix: { ...LOAD.requestMix, data: "sorted-sets" } })).toBeUndefined();
  });

  it("goes by what is known before what is not, by as many io-threads, and takes a lower bound for no more than that", () => {
    const capacity = capacityOf({});
    const need = { ...NEED, p99Ms: 1, ioThreads: 1 };
    const older = { ...capacity, load: null, capacity: 120_000 };
    expect(sustainedRate([{ ...MEASURED, capacities: [older, capacity] }], need)).toMatchObject({
      perPrimary: 20_000,
      load: LOAD,
      isLowerBound: false,
    });
    expect(sustainedRate([{ ...MEASURED, capacities: [older] }], need)).toMatchObject({
      perPrimary: 120_000,
      load: null,
    });
    expect(sustainedRate([{ ...MEASURED, capacities: [capacity] }], { ...need, ioThreads: 4 })).toBeUndefined();
    const open = { ...MEASURED, capacities: [{ ...capacity, capacity: 5000, isOpenEnded: true }] };
    const byClient = {
      ...MEASURED,
      capacities: [{ ...capacity, capacity: 5000, bottleneck: { at: "client" as const, text: "busy" } }],
    };
    for (const results of [open, byClient]) {
      // Without it the queue says 108,135/s.
      const { options, arithmetic } = recommend({ ...NEED, p99Ms: 1 }, [results], OFFERS);
      expect(options[0]?.primaries).toBe(1);
      expect(arithmetic.join("\n")).toMatch(/= 5,000\/s or more, [^]*16 × ln\(100\) \/ 1 ms = 108,135\/s at most/);
    }
  });

  it("goes by random arrivals before even ones, and by neither where the machine moved and there is another", () => {
    const random = capacityOf({ load: { ...LOAD, arrivals: "poisson" }, capacity: 30_000 });
    const even = capacityOf({ load: { ...LOAD, keySpace: 10 }, capacity: 90_000 });
    const warnings = [{ code: "reference-load-moved" as const, text: "moved" }];
    const spoilt = { ...random, capacity: 95_000, warnings };
    const need = { ...NEED, p99Ms: 1 };
    const said = (...capacities: CapacityRecord[]): string => {
      const { arithmetic, assumptions } = recommend(need, [{ ...MEASURED, capacities }], OFFERS);
      return [...arithmetic, ...assumptions].join("\n");
    };
    expect(said(even, random, spoilt)).toMatch(/10,000 keys \(uniform\), requests at random times = 30,000\/s/);
    expect(said(even, random, spoilt)).not.toMatch(/evenly spaced|rate of the reference load changed/);
    expect(said(even, spoilt)).toMatch(
      /10 keys \(uniform\), requests evenly spaced = 90,000\/s[^]*independent users send bursts/,
    );
    expect(said(spoilt)).toMatch(/95,000\/s[^]*the rate of the reference load changed/);
  });

  it("does not go without a figure that will do for a better one that will not", () => {
    const small = run({ get: 500_000, set: 400_000 }, { dataSize: 3 });
    const once = { ...run({ get: 201_000, set: 101_000 }), timestamp: "20261122-090000" };
    expect(
      recommend(NEED, [MEASURED, small, { ...once, records: once.records.slice(0, 2) }], OFFERS).options[0],
    ).toMatchObject({ primaries: 1, ioThreads: 1 });
    const mixCalledSet = run({ set: 900_000 }, { requestMix: LOAD.requestMix });
    expect(recommend(NEED, [mixCalledSet, run({ get: 200_000 })], OFFERS).missing.join()).toContain(
      "no measurement of SET",
    );
  });

  it("never has less capacity, memory or cores than is needed, and never a dearer one first", () => {
    const need = fc.record({
      rate: fc.integer({ min: 1, max: 5_000_000 }),
      reads: fc.double({ min: 0, max: 1, noNaN: true }),
      workingSet: fc.integer({ min: 1, max: 2_000 }).map((gib) => gib * GIB),
      replicas: fc.integer({ min: 0, max: 3 }),
    });
    forAll([need], (changes) => {
      const { options } = recommend({ ...NEED, ...changes }, [MEASURED], OFFERS);
      for (const { mode, primaries, machine, usdPerMonth, utilisation } of options) {
        expect(mode === "replication" ? primaries === 1 : primaries >= 3).toBe(true);
        expect(utilisation).toBeLessThanOrEqual(0.7 + 1e-9);
        expect(primaries * machine.memoryBytes * 0.6).toBeGreaterThan(changes.workingSet);
        expect(usdPerMonth).toBeCloseTo(primaries * (1 + changes.replicas) * machine.usdPerHour * 730, 6);
      }
      for (const [index, option] of options.slice(1).entries())
        expect(option.usdPerMonth).toBeGreaterThanOrEqual(options[index]?.usdPerMonth ?? 0);
    });
  });

  it("says that there is not enough data, and which", async () => {
    const [one, clusters] = [
      { get: 1e5, set: 1e5 },
      { deployment: "cluster", mode: "cluster" as const },
    ];
    const threads = MEASURED.topologies.map((each) => ({
      ...each,
      settings: { "io-threads": each.mode === "cluster" ? "1" : "4" },
    }));
    const otherThreads = MEASURED.records.map((each) => (each.test === "set" ? { ...each, ...clusters } : each));
    const data: Readonly<Record<string, readonly [Results, Partial<Requirements>?]>> = {
      "nothing measured": [results([])],
      "only reads": [run({ get: 1e5 })],
      "reads that missed": [run(one, { warnings: [{ code: "hit-ratio", text: "misses" }] })],
      "an offered rate only": [run(one, { rate: 1e5 })],
      "one round": [{ ...MEASURED, records: MEASURED.records.slice(0, 2) }],
      "batches where nobody batches": [MEASURED, { pipeline: 1 }],
      "writes of another number of io-threads": [{ ...MEASURED, records: otherThreads, topologies: threads }],
      "other values": [MEASURED, { valueSize: 8192 }],
    };
    const found = Object.entries(data).map(([what, [from, changes]]) => {
      const recommended = recommend({ ...NEED, ...changes }, [from], OFFERS);
      expect(recommended.options, what).toEqual([]);
      expect(formatRecommendation(recommended)[0]).toBe("No recommendation: not enough data");
      return [what, recommended.missing] as const;
    });
    await expectReviewed("benchmarks/recommend", "Data that are missing for a recommendation.", found);
  });

  it("offers machines of the architecture that was measured, and all where none has it", () => {
    const cheaper = {
      ...OFFERS[0],
      type: "other",
      architecture: "arm64",
      vcpus: 2,
      memoryBytes: 14 * GIB,
      usdPerHour: 0.05,
    };
    const types = (platform: string, machines: readonly string[]): string[] => {
      const measured = run({ get: 200_000, set: 100_000 });
      const environment = {
        ...measured.environment,
        platform,
        machines: machines.map((each) => ({ ...MACHINE, platform: each })),
      };
      const from = { ...measured, environment };
      return [...new Set(recommend(NEED, [from], [...OFFERS, cheaper]).options.map(({ machine }) => machine.type))];
    };
    expect(types("Linux x64", [])).toEqual(["small", "large"]);
    expect(types("Darwin arm64", [])).toEqual(["other"]);
    expect(types("Linux x64", ["linux/arm64"])).toEqual(["other"]);
    expect(types("Linux riscv64", [])).toEqual(["other", "small", "large"]);
  });

  it("does with one kind of request what only that kind needs", () => {
    expect(first({ reads: 1 }, run({ get: 1e5 }))?.mode).toBe("replication");
    expect(first({ reads: 0 }, run({ set: 1e5 }))?.mode).toBe("replication");
  });

  it("takes the io-threads that served most, on machines with a core more", () => {
    const threaded = {
      ...MEASURED,
      topologies: MEASURED.topologies.map((topology) => ({ ...topology, settings: { "io-threads": "4" } })),
    };
    expect(first({}, threaded)).toMatchObject({ ioThreads: 4, machine: { type: "large" } });
  });

  it("takes fewer io-threads where more are not shown to serve more", () => {
    const noise = [0.95, 1, 1.05, 0.97, 1.03, 1];
    const at = (deployment: "replication" | "cluster", rps: number): MeasurementRecord[] =>
      noise.flatMap((part, index) =>
        ["get", "set"].map((test) => ({
          ...recordAt(deployment, index + 1, rps * part),
          mode: deployment,
          deployment,
          test,
          title: test.toUpperCase(),
        })),
      );
    const both = (more: number): Results => ({
      ...results([...at("replication", 200_000), ...at("cluster", 3 * more)]),
      topologies: MEASURED.topologies.map((each) => ({
        ...each,
        settings: { "io-threads": each.mode === "cluster" ? "4" : "1" },
      })),
    });
    expect(first({}, both(200_200))).toMatchObject({ ioThreads: 1, machine: { type: "small" } });
    expect(first({}, both(300_000))).toMatchObject({ ioThreads: 4, machine: { type: "large" } });
  });

  it("shows its arithmetic and what it assumes", async () => {
    const shared = run({ get: 200_000, set: 100_000 }, { warnings: [{ code: "machine-bound", text: "shared" }] });
    await expectReviewed("benchmarks/recommendations", "What recommendations say.", {
      "replication that was measured on a shared machine": formatRecommendation(
        recommend({ ...NEED, p99Ms: 1 }, [shared], OFFERS),
      ),
      "a cluster where replication was measured": formatRecommendation(
        recommend({ ...NEED, rate: 1_000_000 }, [MEASURED], OFFERS),
      ),
    });
  });
});

describe("a mix", () => {
  it("lies between its parts, and needs both", () => {
    forAll(
      [
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        fc.integer({ min: 1, max: 1e7 }),
        fc.integer({ min: 1, max: 1e7 }),
      ],
      (reads, get, set) => {
        const rate = mixedCapacity(reads, get, set) ?? NaN;
        expect(rate).toBeGreaterThanOrEqual(Math.min(get, set) * 0.999999);
        expect(rate).toBeLessThanOrEqual(Math.max(get, set) * 1.000001);
        expect(mixedCapacity(reads, undefined, set)).toBeUndefined();
      },
    );
  });
});
