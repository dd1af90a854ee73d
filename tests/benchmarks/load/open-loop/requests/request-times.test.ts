import fc from "fast-check";
import { mean, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { Random } from "../../../../../lib/statistics/random";
import { arrivalSchedule } from "../../../../../benchmarks/load/open-loop/requests/request-times";
import { forAll } from "../../../../support/properties";

function times(count: number, arrivals: "fixed" | "poisson", rate: number, worker = 0, workers = 1): number[] {
  const schedule = arrivalSchedule({ arrivals, rate, worker, workers }, new Random(7, worker));
  return Array.from({ length: count }, () => schedule.nextMs());
}

describe("a schedule", () => {
  it("of fixed arrivals is divided among workers without gap or overlap, and does not drift", () => {
    forAll([fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 1, max: 8 })], { numRuns: 50 }, (rate, workers) => {
      const all = Array.from({ length: workers }, (_, worker) => times(50, "fixed", rate, worker, workers))
        .flat()
        .sort((a, b) => a - b);
      for (const [index, at] of all.entries()) expect(at).toBeCloseTo((index * 1000) / rate, 6);
    });
  });

  it("of Poisson arrivals has exponential gaps: mean, variance and the share below the mean", () => {
    const COUNT = 40_000;
    const at = times(COUNT, "poisson", 5_000);
    const gaps = at.map((each, index) => each - (at[index - 1] ?? 0));
    // Four standard errors of each.
    expect(Math.abs(mean(gaps) / 0.2 - 1)).toBeLessThan(4 / Math.sqrt(COUNT));
    expect(Math.abs(sampleVariance(gaps) / 0.04 - 1)).toBeLessThan(4 * Math.sqrt(8 / COUNT));
    expect(Math.abs(gaps.filter((gap) => gap < 0.2).length / COUNT - (1 - Math.exp(-1)))).toBeLessThan(0.01);
  });

  it("of several workers adds up to the whole rate", () => {
    for (const arrivals of ["fixed", "poisson"] as const) {
      const within = [0, 1, 2].flatMap((worker) =>
        times(20_000, arrivals, 9_000, worker, 3).filter((at) => at < 5_000),
      );
      expect(Math.abs(within.length / 45_000 - 1), arrivals).toBeLessThan(0.03);
    }
  });

  it("is the same for the same seed, and differs between workers", () => {
    expect(times(5, "poisson", 100)).toEqual(times(5, "poisson", 100));
    expect(times(5, "poisson", 100, 1)).not.toEqual(times(5, "poisson", 100, 2));
  });
});
