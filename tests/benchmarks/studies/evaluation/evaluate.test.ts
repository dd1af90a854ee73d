import { describe, expect, it } from "vitest";
import { evaluateStudy, analysisOf, studyResults } from "../../../../benchmarks/studies/evaluation/evaluate";
import type { StudyLogEntry, SliceCounts } from "../../../../benchmarks/studies/checkpoint-log";
import { type Treatment, treatmentsOf } from "../../../../benchmarks/studies/factors";
import { comparedPairs, interleavedPairs } from "../../../../benchmarks/studies/pairs";
import type { Study } from "../../../../benchmarks/studies/study";
import { rateDips, bytesPerEntry, recurringDips } from "../../../../benchmarks/studies/evaluation/growth-analysis";
import { resultsSchema } from "../../../../benchmarks/results/schema";
import type { StudyRecord } from "../../../../benchmarks/results/study-schema";
import { formatStudy, intervalNotes } from "../../../../benchmarks/results/formats/study-summary";
import { measurementRecord, results } from "../../../support/benchmarks/records";
import {
  referenceLoadEntry,
  treatmentEntry,
  interleavedEntry,
  study,
  WORKLOAD,
} from "../../../support/benchmarks/study";
import { expectReviewed } from "../../../support/reviewed";

/** Seven rounds at each treatment's rate with noise of 1 %. */
function entriesOfRates(of: Study, rate: (treatment: Treatment) => number, entry = treatmentEntry): StudyLogEntry[] {
  return [1, 2, 3, 4, 5, 6, 7].flatMap((round) => [
    referenceLoadEntry(round, 1),
    ...of.treatments.map((treatment, index) =>
      entry(treatment, round, rate(treatment) * (1 + 0.01 * Math.sin(round * (index + 1)))),
    ),
  ]);
}

const CPUS = (count: number): number[] => Array.from({ length: count }, (_, cpu) => cpu);
const evaluated = (of: Study, entries: readonly StudyLogEntry[], cores: number): StudyRecord =>
  evaluateStudy({ study: of, entries, cpus: CPUS(cores), rounds: 7, ended: "precise" });
/** The record of seven rounds at these rates. */
const evaluatedAt = (
  of: Study,
  rate: (treatment: Treatment) => number,
  cores: number,
  entry = treatmentEntry,
): StudyRecord => evaluated(of, entriesOfRates(of, rate, entry), cores);
/** A rate in proportion to the io-threads. */
const byThreads = ({ levels }: Treatment): number => 1000 * (levels["io-threads"] ?? 0);
describe("comparisons", () => {
  it("are of treatments that differ in one factor, each against its first level", () => {
    const { treatments } = study({ "io-threads": [1, 2], pipeline: [16, 1] });
    expect(comparedPairs(treatments).map(({ base, other }) => `${other.id} / ${base.id}`)).toEqual([
      "io-threads-1-pipeline-1 / io-threads-1-pipeline-16",
      "io-threads-2-pipeline-16 / io-threads-1-pipeline-16",
      "io-threads-2-pipeline-1 / io-threads-1-pipeline-1",
      "io-threads-2-pipeline-1 / io-threads-2-pipeline-16",
    ]);
  });

  it("find ratios, and leave out different offered rates", () => {
    const of = study({ "io-threads": [1, 2] });
    const { comparisons } = evaluatedAt(of, byThreads, 8);
    expect(comparisons.find(({ metric }) => metric === "throughput")).toMatchObject({
      base: "io-threads-1",
      other: "io-threads-2",
      rounds: 7,
      verdict: "greater",
    });
    expect(comparisons.find(({ metric }) => metric === "throughput")?.ratio).toBeCloseTo(2, 1);
    const rates = study({ rate: [0, 1000] });
    expect(evaluatedAt(rates, () => 1000, 8).comparisons).toEqual([]);
  });
});

describe("interleaved measurements", () => {
  const of = study({ "io-threads": [1, 2] });
  const [base, other] = of.treatments;
  if (base === undefined || other === undefined) throw new Error("the study has no treatments");
  const pair = { base, other };
  const rounds = [1, 2, 3, 4, 5, 6, 7];
  const counts = (requests: number): SliceCounts => ({ requests, seconds: 2, cpuSeconds: 1 });
  // Measured separately the second is faster, interleaved it is slower.
  const apart = entriesOfRates(of, byThreads);
  const of7 = (entries: readonly StudyLogEntry[], metric: string): StudyRecord["comparisons"][number] | undefined =>
    evaluated(of, entries, 8).comparisons.find((each) => each.metric === metric);

  it("decide throughput; latency and CPU come from separate measurements", () => {
    const entries = [
      ...apart,
      ...rounds.map((round) =>
        interleavedEntry(pair, round, counts(2000), { ...counts(1800 + round), cpuSeconds: 1.8 }),
      ),
    ];
    expect(of7(entries, "throughput")).toMatchObject({
      verdict: "less",
      rounds: 7,
      interleaved: true,
      ratio: expect.closeTo(0.902, 3) as number,
    });
    expect(of7(entries, "cpu-per-operation")).toMatchObject({ rounds: 7, interleaved: false });
    expect(of7(entries, "p99")).toMatchObject({ rounds: 7, interleaved: false });
    expect(evaluated(of, entries, 8).interleaved).toHaveLength(7);
  });

  it("divide each side's requests by its own seconds", () => {
    const entries = rounds.map((round) =>
      interleavedEntry(pair, round, counts(2000), { ...counts(1000 + round), seconds: 1 }),
    );
    expect(of7([...apart, ...entries], "throughput")?.ratio).toBeCloseTo(1.004, 3);
  });

  it("give inverse ratios for swapped sides, and compare two treatments through a common third", () => {
    const three = study({ "io-threads": [1, 2, 4] });
    const [one, two, four] = three.treatments;
    if (one === undefined || two === undefined || four === undefined) throw new Error("the study has no treatments");
    // The first treatment has another rate in each pair.
    const entries = rounds.flatMap((round) => [
      interleavedEntry({ base: one, other: two }, round, counts(2000), counts(3000 + round)),
      interleavedEntry({ base: one, other: four }, round, counts(1000), counts(600 + round)),
    ]);
    // Measured separately, all treatments are equally fast.
    const findings = analysisOf({ study: three, entries: [...entriesOfRates(three, () => 1000), ...entries] });
    const ratio = (a: Treatment, b: Treatment): number => findings.ratio(a, b, "set", "throughput").ratio ?? NaN;
    expect(ratio(one, two)).toBeCloseTo(1.502, 3);
    expect(ratio(two, one)).toBeCloseTo(1 / ratio(one, two), 12);
    expect(ratio(two, four)).toBeCloseTo(0.604 / 1.502, 3);
    expect(ratio(four, two)).toBeCloseTo(1 / ratio(two, four), 12);
    expect(findings.ratio(two, four, "set", "throughput").rounds).toBe(7);
    expect(findings.ratio(two, four, "set", "p99").verdict).not.toBe("less");
  });

  it("do not count once the pair was given up: separate measurements decide", () => {
    const failed = (round: number): StudyLogEntry => ({
      kind: "failure",
      round,
      treatment: "io-threads-2 beside io-threads-1",
      seconds: 1,
      reason: "no",
    });
    const entries = [...apart, interleavedEntry(pair, 1, counts(2000), counts(1800)), failed(2), failed(3)];
    expect(of7(entries, "throughput")).toMatchObject({ verdict: "greater", interleaved: false });
    expect(evaluated(of, entries, 8).interleaved).toEqual([]);
  });

  it("are of pairs at full speed with equally many nodes, and of tests that leave their data unchanged", () => {
    const named = (...args: Parameters<typeof study>): string[] =>
      interleavedPairs(study(...args).treatments).map((each) => `${each.other.id} / ${each.base.id}`);
    expect(named({ "io-threads": [1, 2, 4] })).toEqual(["io-threads-2 / io-threads-1", "io-threads-4 / io-threads-1"]);
    expect(named({ rate: [0, 1000], "io-threads": [1, 2] })).toEqual([
      "full-speed-io-threads-2 / full-speed-io-threads-1",
    ]);
    expect(named({ primaries: [1, 3], pipeline: [16, 1] })).toEqual([
      "1-primary-pipeline-1 / 1-primary-pipeline-16",
      "3-primaries-pipeline-1 / 3-primaries-pipeline-16",
    ]);
    expect(named({ primaries: [1, 3, 6] })).toEqual([]);
    const popping = study({ "io-threads": [1, 2] }).treatments.map((treatment) => ({
      ...treatment,
      workload: { ...treatment.workload, tests: ["lpop" as const] },
    }));
    expect(interleavedPairs(popping)).toEqual([]);
  });
});

/** Findings of a study, with what they say of documents. */
const judged = ({ findings, claims }: StudyRecord): string[] => [
  ...findings,
  ...claims.map(({ document, claim, finding, why }) => `${document}: ${claim}: ${finding}: ${why}`),
];

describe("studies of documents", () => {
  it("name the best number of io-threads, and judge claims on machines with enough cores", async () => {
    const ladder = study({ "io-threads": [1, 2, 4, 8] }, { kind: "io-threads" });
    const at = (rates: Readonly<Record<number, number>>, cores: number): string[] =>
      judged(evaluatedAt(ladder, ({ levels }) => rates[levels["io-threads"] ?? 0] ?? 0, cores));
    const best2 = { 1: 1000, 2: 1400, 4: 1405, 8: 700 };
    await expectReviewed("benchmarks/study-io-threads", "Findings of the study io-threads.", {
      "2 threads on 8 cores": at(best2, 8),
      "2 threads on 7 cores": at(best2, 7),
      "8 threads on 7 cores": at({ 1: 1000, 2: 1100, 4: 1405, 8: 1500 }, 7),
      "1 thread on 2 cores": at({ 1: 1000, 2: 400, 4: 200, 8: 100 }, 2),
    });
  });

  it("judge the speed-up of a cluster, and GETs that are as fast within a tenth", async () => {
    const bases = [
      { name: "replication", mode: "replication", shape: { primaries: 1, replicasPerPrimary: 1 }, settings: {} },
      { name: "cluster", mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 }, settings: {} },
    ] as const;
    const of = study({}, { kind: "topologies", treatments: treatmentsOf(bases, { pipeline: [16, 1] }, WORKLOAD, 1) });
    const at = (cluster: number, cores: number): string[] =>
      judged(
        evaluatedAt(
          of,
          ({ mode, workload }) => (mode === "cluster" ? cluster : 1) * (workload.pipeline === 16 ? 100_000 : 20_000),
          cores,
        ),
      );
    const get = { ...WORKLOAD, tests: ["get" as const] };
    const reading = study({}, { kind: "topologies", treatments: treatmentsOf(bases, { pipeline: [16] }, get, 1) });
    const parity = (cluster: number, spread = 1): string[] =>
      judged(
        evaluatedAt(
          reading,
          ({ mode }) => (mode === "cluster" ? cluster : 1) * 100_000,
          4,
          (treatment, round, rps) =>
            treatmentEntry(treatment, round, rps * (treatment.mode === "cluster" && round % 2 === 0 ? spread : 1), {
              ...{ test: "get", title: "GET" },
            }),
        ),
      );
    await expectReviewed("benchmarks/study-topologies", "Findings of the study topologies.", {
      "2.9 times as fast on 4 cores": at(2.9, 4),
      "1.6 times as fast on 4 cores": at(1.6, 4),
      "2.5 times as fast on 4 cores": at(2.5, 4),
      "2.9 times as fast on 2 cores": at(2.9, 2),
      // A significant difference of 4 % still counts as equally fast.
      "GETs that are 4 % faster": parity(1.04),
      "GETs that are as fast": parity(1),
      "GETs that are half as fast again": parity(1.5),
      "GETs whose rates are wide apart": parity(1, 1.6),
    });
  });

  it("fit the exponent of shards, without treatments that the load generator limited or that share CPUs", async () => {
    const shards = study({ primaries: [1, 3, 4, 8], cpus: [1] }, { kind: "density" });
    const clientBound = { code: "client-bound" as const, text: "the load generator was the limit" };
    const bound = (treatment: Treatment, round: number, rps: number): ReturnType<typeof treatmentEntry> =>
      treatmentEntry(treatment, round, rps, treatment.shape.primaries === 8 ? { warnings: [clientBound] } : {});
    const rate = ({ shape }: Treatment): number => (shape.primaries === 8 ? 3000 : 1000 * shape.primaries ** 0.92);
    const told = (record: StudyRecord): object => ({
      judged: judged(record),
      fits: record.fits.map(({ exponent, factor, ...fit }) => ({
        ...{ ...fit, factor: factor?.toFixed(0) ?? "none" },
        exponent: exponent?.estimate.toFixed(3) ?? "none",
      })),
      shared: record.treatments.map(({ id, shared }) => `${id}: ${shared ?? "nothing shared"}`),
    });
    await expectReviewed("benchmarks/study-density", "Findings of the study density.", {
      "60 cores": told(evaluatedAt(shards, rate, 60, bound)),
      "2 cores": told(evaluatedAt(shards, () => 1000, 2)),
    });
  });

  it("judge bytes per entry over all rounds at the value size of the document", async () => {
    const said = (dataSize: number, ...bytes: readonly number[]): string[] => {
      const of = study(
        { engine: ["valkey", "redis-7"] },
        { kind: "engines", tableGrowth: { keys: 200_000, dataSize } },
      );
      const entries = entriesOfRates(
        of,
        () => 1000,
        (treatment, round, rps) => ({
          ...treatmentEntry(treatment, round, rps),
          growth: {
            samples: bytes.map((each, index) => ({
              ...{ seconds: index, keys: 100_000 * (index + 1) },
              bytes: 100_000 * (index + 1) * (each + (round === 7 ? 2 : 0)),
            })),
          },
        }),
      );
      return judged(evaluated(of, entries, 2));
    };
    await expectReviewed("benchmarks/study-engines", "Findings of the study engines.", {
      "138 to 156 bytes": said(64, 138, 156),
      "110 to 140 bytes": said(64, 110, 140),
      "138 to 147 bytes, of which the last round alone contains 149": said(64, 138, 147),
      "values of 256 bytes": said(256, 330, 348),
    });
  });

  it("compare CPU per operation at an offered rate on a small machine", async () => {
    const of = study({ primaries: [3, 6, 9], rate: [0, 20_000] }, { kind: "billion" });
    const node = { node: "n", role: "primary", mainThread: null } as const;
    const overhead = (cores: (primaries: number) => number): string[] =>
      judged(
        evaluatedAt(
          of,
          () => 20_000,
          2,
          (treatment, round, rps) => {
            const servers = [{ ...node, cores: cores(treatment.shape.primaries) * (1 + round / 500) }];
            return treatmentEntry(treatment, round, rps, { cpu: { ...measurementRecord().cpu, servers } });
          },
        ),
      );
    await expectReviewed("benchmarks/study-billion", "Findings of the study billion.", {
      "the same CPU": overhead(() => 0.3),
      "CPU that grows with the primaries": overhead((primaries) => primaries / 10),
    });
  });
});

describe("growth", () => {
  /** 150 or 130 bytes per entry, and a stall at a million keys. */
  const samples = Array.from({ length: 80 }, (_, index) => ({
    seconds: index * 0.1 + (index > 40 ? 0.5 : 0),
    keys: index * 25_000,
    bytes: index * 25_000 * (index % 20 < 10 ? 150 : 130),
  }));

  it("gives bytes per entry, and dips of the insertion rate", () => {
    expect(bytesPerEntry({ samples })).toMatchObject({ min: 130, max: 150 });
    const dips = rateDips({ samples });
    expect(dips).toHaveLength(1);
    expect(dips[0]?.keys).toBeGreaterThan(950_000);
    expect(dips[0]?.keys).toBeLessThan(1_100_000);
    const elsewhere = { samples: samples.map(({ seconds, keys, bytes }) => ({ seconds, keys: keys / 2, bytes })) };
    expect(recurringDips([{ samples }, { samples }, elsewhere]).map(({ keys }) => keys)).toEqual([]);
    expect(recurringDips([{ samples }, { samples }, { samples }, elsewhere]).map(({ keys }) => keys)).toEqual([
      dips[0]?.keys,
    ]);
    expect(recurringDips([{ samples }])).toEqual([]);
    expect(bytesPerEntry({ samples: [] })).toBeUndefined();
    expect(rateDips({ samples: [] })).toEqual([]);
  });
});

describe("a study's results", () => {
  const of = study({ "io-threads": [1, 2] });
  const described = (referenceLoad: number): ReturnType<typeof studyResults> => {
    const entries = [...entriesOfRates(of, () => 1000), referenceLoadEntry(8, 1, referenceLoad)];
    const { environment } = results([]);
    return studyResults(
      { study: of, entries, cpus: [0, 1], rounds: 7, ended: "precise" },
      { timestamp: "20261121-090000", stack: "study-x", configuration: {}, environment },
      null,
    );
  };

  it("match the schema of results, with a section of the study", () => {
    const all = described(1e6);
    expect(resultsSchema.parse(JSON.parse(JSON.stringify(all)))).toEqual(all);
    expect(all.topologies.map(({ deployment }) => deployment)).toEqual(["io-threads-1", "io-threads-2"]);
    expect(all.study?.order).toHaveLength(22);
    expect(formatStudy(all).join("\n")).toMatch(
      /SET +throughput +io-threads 2 \/ io-threads 1 +1\.\d\d× +\(\d\.\d\d … \d\.\d\d\) +no difference shown/,
    );
  });

  it("explain their intervals", () => {
    const said = formatStudy(described(1e6)).join("\n");
    expect(said).toContain("excludes a difference of more than 10.3 %.");
    expect(said).not.toMatch(/by chance|closed loop/);
    const ladder = study({ "io-threads": [1, 2, 3, 4] });
    expect(intervalNotes(evaluatedAt(ladder, byThreads, 8)).join()).toContain(
      "about 1 of these 9 intervals will miss their true ratio by chance",
    );
    const atRate = study({ "io-threads": [1, 2], rate: [1000] });
    const always = study(
      {},
      {
        treatments: treatmentsOf(
          [{ name: "primary", mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 }, settings: {} }],
          { "io-threads": [1, 2] },
          { ...WORKLOAD, rate: 1000 },
          1,
        ),
      },
    );
    for (const each of [atRate, always])
      expect(intervalNotes(evaluatedAt(each, () => 1000, 8)).join()).toContain(
        "p99 at an offered rate comes from a closed loop",
      );
  });

  it("all have a warning when one reference load moved", () => {
    const all = described(5e5);
    expect(all.study?.referenceLoadMoved).toBe(true);
    for (const { warnings } of all.records) expect(warnings.map(({ code }) => code)).toEqual(["reference-load-moved"]);
    expect(formatStudy(all).join("\n")).toContain("The rate of the reference load changed");
    expect(described(1e6).records.flatMap(({ warnings }) => warnings)).toEqual([]);
  });
});
