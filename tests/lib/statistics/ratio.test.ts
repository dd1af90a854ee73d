import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomFrom, shuffled } from "../../../lib/statistics/random";
import { type PairedValues, isPrecise, pairedRatio, roundsNeeded } from "../../../lib/statistics/ratio";
import { forAll } from "../../support/properties";

const figure = fc.double({ min: 1, max: 1e7, noNaN: true });
const pairs = fc.array(fc.record({ base: figure, other: figure }), { minLength: 0, maxLength: 20 });

const around = (ratio: number, ...deviations: number[]): PairedValues[] =>
  deviations.map((deviation) => ({ base: 1000, other: 1000 * ratio * (1 + deviation) }));

describe("pairedRatio", () => {
  it("is the inverse when the sides are exchanged", () => {
    forAll([pairs], (all) => {
      const [ratio, inverse] = [
        pairedRatio(all, 0.05),
        pairedRatio(
          all.map(({ base, other }) => ({ base: other, other: base })),
          0.05,
        ),
      ];
      expect((ratio.ratio ?? 1) * (inverse.ratio ?? 1)).toBeCloseTo(1, 9);
      const opposite = {
        greater: "less",
        less: "greater",
        "no-difference": "no-difference",
        "not-enough-data": "not-enough-data",
      } as const;
      expect(inverse.verdict).toBe(opposite[ratio.verdict]);
      if (ratio.low !== undefined && ratio.high !== undefined) expect(ratio.low).toBeLessThanOrEqual(ratio.high);
    });
  });

  it("depends neither on the speed of rounds nor on their order", () => {
    forAll(
      [pairs, fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 20, maxLength: 20 })],
      (all, levels) => {
        const scaled = all
          .map(({ base, other }, index) => ({
            base: base * (levels[index] ?? 1),
            other: other * (levels[index] ?? 1),
          }))
          .reverse();
        expect(pairedRatio(scaled, 0.05).ratio ?? 1).toBeCloseTo(pairedRatio(all, 0.05).ratio ?? 1, 6);
      },
    );
  });

  it("has a verdict for each case", () => {
    expect(pairedRatio(around(1.5, 0, 0.01, -0.01, 0.02), 0.05).verdict).toBe("greater");
    expect(pairedRatio(around(0.9, 0, 0.01, -0.01, 0.02), 0.05).verdict).toBe("less");
    expect(pairedRatio(around(1, 0, 0.01, -0.01, 0.005), 0.05).verdict).toBe("no-difference");
    expect(pairedRatio(around(1, 0, 0.2, -0.3, 0.1), 0.05).verdict).toBe("not-enough-data");
    expect(pairedRatio(around(3, 0, 0), 0.05)).toMatchObject({ verdict: "not-enough-data", rounds: 2, low: undefined });
    expect(pairedRatio([], 0.05)).toMatchObject({ verdict: "not-enough-data", ratio: undefined });
  });

  it("ignores rounds without a measurement", () => {
    expect(pairedRatio([...around(2, 0, 0.01, -0.01), { base: 0, other: 5 }], 0.05).rounds).toBe(3);
  });
});

describe("roundsNeeded", () => {
  it("is the present number where that suffices, and four times as many for half the width", () => {
    const ratio = pairedRatio(around(1, 0.1, -0.1, 0.08, -0.05, 0.02, -0.09, 0.03, 0.06), 0.05);
    const half = (Math.log(ratio.high ?? NaN) - Math.log(ratio.low ?? NaN)) / 2;
    expect(roundsNeeded(ratio, Math.expm1(half * 1.01))).toBe(8);
    expect(isPrecise(ratio, Math.expm1(half * 1.01))).toBe(true);
    expect(roundsNeeded(ratio, Math.expm1(half / 2))).toBe(32);
    expect(isPrecise(ratio, Math.expm1(half / 2))).toBe(false);
    expect(roundsNeeded(pairedRatio([], 0.05), 0.05)).toBeUndefined();
  });
});

describe("random numbers from a seed", () => {
  it("are the same for the same seed and uniform, and shuffle into every order", () => {
    const [a, b] = [randomFrom(7), randomFrom(7)];
    const numbers = Array.from({ length: 5000 }, () => a());
    expect(numbers.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => b()));
    for (const tenth of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      expect(numbers.filter((each) => Math.floor(each * 10) === tenth).length).toBeGreaterThan(400);
    forAll([fc.array(fc.integer()), fc.integer()], (items, seed) => {
      expect([...shuffled(items, randomFrom(seed))].sort()).toEqual([...items].sort());
    });
    const first = Array.from({ length: 600 }, (_, seed) => shuffled(["a", "b", "c"], randomFrom(seed)).join(""));
    for (const order of ["abc", "acb", "bac", "bca", "cab", "cba"])
      expect(first.filter((each) => each === order).length).toBeGreaterThan(60);
  });
});
