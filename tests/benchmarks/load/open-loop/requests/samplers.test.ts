/** Chi-square tests of the drawn keys and sizes against the probabilities of their distributions. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  keySampler,
  rankPermutation,
  ZipfianSampler,
} from "../../../../../benchmarks/load/open-loop/requests/operations";
import { Random } from "../../../../../lib/statistics/random";
import { sizeSampler, typicalSizes } from "../../../../../benchmarks/workloads/value-sizes";
import { SLOT_COUNT } from "../../../../../valkey/topology/slots";
import type { KeyDistribution } from "../../../../../benchmarks/workloads/mixed-workload";
import { forAll } from "../../../../support/properties";

const DRAWS = 100_000;

/** The standardised statistic: (χ² − df) / √(2 df) is about normal for many cells. */
function standardisedChiSquare(observed: readonly number[], probabilities: readonly number[]): number {
  const total = observed.reduce((sum, count) => sum + count, 0);
  const chi = observed.reduce(
    (sum, count, index) =>
      sum + (count - total * (probabilities[index] ?? 0)) ** 2 / (total * (probabilities[index] ?? 0)),
    0,
  );
  const freedom = probabilities.length - 1;
  return (chi - freedom) / Math.sqrt(2 * freedom);
}

/** Exceeded with a probability below one in ten thousand; the seeds are fixed. */
const LIMIT = 4.5;

/** Draws numbers below the size of the distribution, and tests them against it. */
function expectDistribution(next: () => number, probabilities: readonly number[]): void {
  expect(standardisedChiSquare(counts(probabilities.length, next), probabilities)).toBeLessThan(LIMIT);
}

function counts(size: number, next: () => number): number[] {
  const found = new Array<number>(size).fill(0);
  for (let i = 0; i < DRAWS; i++) {
    const index = next();
    found[index] = (found[index] ?? 0) + 1;
  }
  return found;
}

describe("keys", () => {
  it.each([0.5, 0.99, 1, 1.2, 2])("follow a Zipf distribution with theta %d", (theta) => {
    const SIZE = 60;
    const weights = Array.from({ length: SIZE }, (_, rank) => (rank + 1) ** -theta);
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const ranks = new ZipfianSampler(SIZE, theta, new Random(11));
    const probabilities = weights.map((weight) => weight / sum);
    expectDistribution(() => ranks.next(), probabilities);
  });

  it("follow a uniform distribution", () => {
    const draw = keySampler({ distribution: "uniform" }, 100, new Random(3));
    expectDistribution(() => draw.next(), new Array<number>(100).fill(0.01));
  });

  it("of a hot set get their share of the requests", () => {
    const draw = keySampler({ distribution: "hot-set", keys: 0.1, requests: 0.7 }, 100, new Random(5));
    const found = counts(100, () => draw.next()).sort((a, b) => b - a);
    const hot = found.slice(0, 10).reduce((sum, count) => sum + count, 0);
    expect(Math.abs(hot / DRAWS - 0.7)).toBeLessThan(4 * Math.sqrt((0.7 * 0.3) / DRAWS));
    expect(standardisedChiSquare(found.slice(0, 10), new Array<number>(10).fill(0.1))).toBeLessThan(LIMIT);
  });

  it("lie in the key space, whatever its size", () => {
    const distributions: KeyDistribution[] = [
      { distribution: "uniform" },
      { distribution: "zipfian", theta: 0.99 },
      { distribution: "hot-set", keys: 0.2, requests: 0.8 },
    ];
    forAll(
      [fc.constantFrom(...distributions), fc.integer({ min: 1, max: 1_000_000_000 }), fc.integer()],
      (keys, size, seed) => {
        const draw = keySampler(keys, size, new Random(seed));
        for (let i = 0; i < 20; i++) {
          const index = draw.next();
          expect(Number.isInteger(index) && index >= 0 && index < size, `${index} of ${size}`).toBe(true);
        }
      },
    );
  });

  it("differ for different ranks, and the hottest are spread over all slots", () => {
    for (const size of [1, 7, 100, 16_384])
      expect(new Set(Array.from({ length: size }, (_, rank) => rankPermutation(size)(rank))).size, String(size)).toBe(
        size,
      );
    for (const times of [1, 6, 13, 61]) {
      const spread = rankPermutation(times * SLOT_COUNT);
      // Of the hundred hottest, each eighth of the slots has about an eighth.
      const eighths = new Array<number>(8).fill(0);
      for (let rank = 0; rank < 100; rank++) {
        const eighth = Math.floor(((spread(rank) % SLOT_COUNT) * 8) / SLOT_COUNT);
        eighths[eighth] = (eighths[eighth] ?? 0) + 1;
      }
      expect(Math.min(...eighths), `${times}: ${eighths.join()}`).toBeGreaterThan(8);
    }
  });
});

describe("sizes", () => {
  it("of a lognormal distribution have its median and its deviation, up to the maximum", () => {
    const draw = sizeSampler({ sizes: "lognormal", median: 1000, sigma: 0.5, max: 1_000_000 }, new Random(9));
    const drawn = Array.from({ length: DRAWS }, () => draw.next()).sort((a, b) => a - b);
    const at = (part: number): number => drawn[Math.floor(part * DRAWS)] ?? 0;
    expect(Math.abs(at(0.5) / 1000 - 1)).toBeLessThan(0.02);
    expect(Math.abs(at(0.8413) / (1000 * Math.exp(0.5)) - 1)).toBeLessThan(0.02);
    const cut = sizeSampler({ sizes: "lognormal", median: 1000, sigma: 0.5, max: 1100 }, new Random(9));
    expect(Math.max(...Array.from({ length: 1000 }, () => cut.next()))).toBe(1100);
  });

  it("of a list follow their weights", () => {
    const list = [1, 3].map((weight, index) => ({ bytes: index, weight }));
    const draw = sizeSampler({ sizes: "weighted", list }, new Random(2));
    expectDistribution(() => draw.next(), [0.25, 0.75]);
  });

  it("of a uniform distribution reach both bounds", () => {
    const draw = sizeSampler({ sizes: "uniform", min: 3, max: 7 }, new Random(2));
    expect(new Set(Array.from({ length: 500 }, () => draw.next()))).toEqual(new Set([3, 4, 5, 6, 7]));
  });

  it("for keys written before a measurement have the quantiles of the distribution", () => {
    expect(typicalSizes({ sizes: "fixed", bytes: 9 }, new Random(1), 8)).toEqual([9]);
    const typical = typicalSizes({ sizes: "uniform", min: 1, max: 1000 }, new Random(1), 10);
    for (const [index, size] of typical.entries()) expect(Math.abs(size - (100 * index + 50))).toBeLessThan(60);
  });
});
