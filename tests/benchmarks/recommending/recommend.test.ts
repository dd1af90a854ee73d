import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mixed } from "../../../benchmarks/recommending/capacity";
import { formatRecommendation } from "../../../benchmarks/recommending/format";
import type { Need, Offer } from "../../../benchmarks/recommending/recommend";
import { recommend } from "../../../benchmarks/recommending/recommend";
import type { MeasurementRecord, Results } from "../../../benchmarks/results/schema";
import { measured, results } from "../../support/records";

const GIB = 1024 ** 3;
const OFFERS: readonly Offer[] = [
  { type: "small", vcpus: 2, memoryBytes: 14 * GIB, usdPerHour: 0.1 },
  { type: "large", vcpus: 8, memoryBytes: 58 * GIB, usdPerHour: 0.42 },
];
const NEED: Need = { rate: 50_000, reads: 0.9, workingSet: 2 * GIB, valueSize: 256, p99Ms: undefined, replicas: 1 };

/** Six rounds of each test on one primary, at exactly this rate. */
function run(rates: Readonly<Record<string, number>>, changes: Partial<MeasurementRecord> = {}): Results {
  const records = [1, 2, 3, 4, 5, 6].flatMap((round) => Object.entries(rates).map(([test, rps]) => ({ ...measured("replication", round, rps), test, title: test.toUpperCase(), ...changes })));
  return results(records);
}

const MEASURED = run({ get: 200_000, set: 100_000 });
const first = (need: Partial<Need>, from = MEASURED): ReturnType<typeof recommend>["options"][number] | undefined => recommend({ ...NEED, ...need }, [from], OFFERS).options[0];

describe("a recommendation", () => {
  it("takes replication while one primary serves it and holds it, and a cluster of three or more beyond", () => {
    // 0.9 / 200,000 + 0.1 / 100,000 seconds each: 181,818/s, of which 70 % are 127,272/s.
    expect(first({})).toMatchObject({ mode: "replication", primaries: 1, offer: { type: "small" }, ioThreads: 1 });
    expect(first({ rate: 127_000 })?.primaries).toBe(1);
    expect(first({ rate: 128_000 })).toMatchObject({ mode: "cluster", primaries: 3 });
    expect(first({ rate: 1_000_000 })).toMatchObject({ mode: "cluster", primaries: 8 });
    // Memory alone, 34.6 GiB: one large machine for less than five small ones, a replica each.
    expect(first({ workingSet: 23 * GIB })).toMatchObject({ mode: "replication", offer: { type: "large" } });
    expect(first({ workingSet: 200 * GIB })?.mode).toBe("cluster");
  });

  it("keeps a latency objective, and says when no use of a primary would", () => {
    expect(first({ p99Ms: 1, rate: 50_000 })?.primaries).toBe(1);
    // 181,818 − ln(100) / 0.05 ms = 89,714/s.
    expect(first({ p99Ms: 0.05, rate: 89_000 })?.primaries).toBe(1);
    expect(first({ p99Ms: 0.05, rate: 90_500 })?.primaries).toBe(3);
    const impossible = recommend({ ...NEED, p99Ms: 0.02 }, [MEASURED], OFFERS);
    expect(impossible.options).toEqual([]);
    expect(impossible.missing[0]).toContain("p99 ≤ 0.02 ms cannot be kept");
  });

  it("goes by a capacity that was measured under the objective, rather than by a model", () => {
    const capacity = { deployment: "replication", mode: "replication" as const, workload: "mixed", load: null, objective: { part: 0.99, ms: 1 }, capacity: 40_000, isOpenEnded: false, points: [], knee: null, limit: null, doubts: [] };
    const held = { ...MEASURED, capacities: [capacity, { ...capacity, objective: { part: 0.99, ms: 5 }, capacity: 90_000 }] };
    expect(first({ p99Ms: 1, rate: 39_000 }, held)?.primaries).toBe(1);
    expect(first({ p99Ms: 1, rate: 41_000 }, held)?.primaries).toBe(3);
    expect(first({ p99Ms: 10, rate: 89_000 }, held)?.primaries).toBe(1);
    expect(recommend({ ...NEED, p99Ms: 1 }, [held], OFFERS).arithmetic.join("\n")).toContain("p99 ≤ 1 ms, measured: mixed of replication");
  });

  it("never has less capacity, memory or cores than is needed, and never a dearer one first", () => {
    const need = fc.record({ rate: fc.integer({ min: 1, max: 5_000_000 }), reads: fc.double({ min: 0, max: 1, noNaN: true }), workingSet: fc.integer({ min: 1, max: 2_000 }).map((gib) => gib * GIB), replicas: fc.integer({ min: 0, max: 3 }) });
    fc.assert(
      fc.property(need, (changes) => {
        const { options } = recommend({ ...NEED, ...changes }, [MEASURED], OFFERS);
        for (const { mode, primaries, offer, usdPerMonth, use } of options) {
          expect(mode === "replication" ? primaries === 1 : primaries >= 3).toBe(true);
          expect(use).toBeLessThanOrEqual(0.7 + 1e-9);
          expect(primaries * offer.memoryBytes * 0.6).toBeGreaterThan(changes.workingSet);
          expect(usdPerMonth).toBeCloseTo(primaries * (1 + changes.replicas) * offer.usdPerHour * 730, 6);
        }
        for (const [index, option] of options.slice(1).entries()) expect(option.usdPerMonth).toBeGreaterThanOrEqual(options[index]?.usdPerMonth ?? 0);
      }),
    );
  });

  it.each<[string, Results, Partial<Need>, RegExp]>([
    ["nothing measured", results([]), {}, /no GET was measured/],
    ["only reads", run({ get: 1e5 }), {}, /no SET was measured/],
    ["reads that missed", run({ get: 1e5, set: 1e5 }, { doubts: [{ code: "hit-ratio", text: "misses" }] }), {}, /no GET was measured at full speed, with hits/],
    ["an offered rate only", run({ get: 1e5, set: 1e5 }, { rate: 1e5 }), {}, /no GET was measured at full speed/],
    ["one round", { ...MEASURED, records: MEASURED.records.slice(0, 2) }, {}, /1 round is too few/],
    ["other values", MEASURED, { valueSize: 8192 }, /values of 256 B, more than four times off the 8192 B/],
  ])("says that there is not enough data with %s", (_what, from, changes, why) => {
    const { options, missing } = recommend({ ...NEED, ...changes }, [from], OFFERS);
    expect(options).toEqual([]);
    expect(missing[0]).toBe("not enough data");
    expect(missing.join("\n")).toMatch(why);
    expect(formatRecommendation(recommend({ ...NEED, ...changes }, [from], OFFERS))[0]).toBe("No recommendation: not enough data");
  });

  it("does with one kind of request what only that kind needs", () => {
    expect(first({ reads: 1 }, run({ get: 1e5 }))?.mode).toBe("replication");
    expect(first({ reads: 0 }, run({ set: 1e5 }))?.mode).toBe("replication");
  });

  it("takes the io-threads that served most, on machines with a core more", () => {
    const threaded = { ...MEASURED, topologies: MEASURED.topologies.map((topology) => ({ ...topology, settings: { "io-threads": "4" } })) };
    expect(first({}, threaded)).toMatchObject({ ioThreads: 4, offer: { type: "large" } });
  });

  it("shows its arithmetic and what it assumes", () => {
    const text = formatRecommendation(recommend({ ...NEED, p99Ms: 1 }, [run({ get: 200_000, set: 100_000 }, { doubts: [{ code: "machine-bound", text: "shared" }] })], OFFERS)).join("\n");
    expect(text).toContain("Recommended: replication, 1 primary with 1 replicas, on small with io-threads 1: $146 a month");
    expect(text).toContain("1 / (0.9 / 200,000 + 0.1 / 100,000) = 181,818/s");
    expect(text).toContain("50,000 / 127,273 → 1");
    expect(text).toContain("at least: the servers were not the limit");
    expect(text).toContain("a primary serves on the recommended machine what it served where it was measured: CPU <b> (2 cores)");
  });
});

describe("a mix", () => {
  it("lies between its parts, and needs both", () => {
    fc.assert(fc.property(fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.integer({ min: 1, max: 1e7 }), fc.integer({ min: 1, max: 1e7 }), (reads, get, set) => {
      const rate = mixed(reads, get, set) ?? NaN;
      expect(rate).toBeGreaterThanOrEqual(Math.min(get, set) * 0.999999);
      expect(rate).toBeLessThanOrEqual(Math.max(get, set) * 1.000001);
      expect(mixed(reads, undefined, set)).toBeUndefined();
    }));
  });
});
