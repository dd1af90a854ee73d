/** Compares the statistics with published values. */
import { describe, expect, it } from "vitest";
import { welchInterval } from "../../../lib/statistics/independent";
import { pairedInterval, signedRank, signedRankInterval, studentInterval } from "../../../lib/statistics/paired";
import { type Point, fitLine, fitPowerLaw } from "../../../lib/statistics/power-law";
import { twoSidedTail, twoSidedT } from "../../../lib/statistics/student";
import { NORRIS } from "../../support/benchmarks/norris";

describe("Student's t", () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, columns 0.90, 0.975 and 0.995.
  it.each([
    [1, 3.078, 12.706, 63.657],
    [2, 1.886, 4.303, 9.925],
    [3, 1.638, 3.182, 5.841],
    [5, 1.476, 2.571, 4.032],
    [10, 1.372, 2.228, 3.169],
    [30, 1.31, 2.042, 2.75],
    [100, 1.29, 1.984, 2.626],
  ])("with %i degrees of freedom has the quantiles of NIST's table", (degrees, at80, at95, at99) => {
    expect(twoSidedT(0.8, degrees)).toBeCloseTo(at80, 3);
    expect(twoSidedT(0.95, degrees)).toBeCloseTo(at95, 3);
    expect(twoSidedT(0.99, degrees)).toBeCloseTo(at99, 3);
  });

  it("has the closed forms of one and of two degrees of freedom", () => {
    for (const t of [0.01, 0.5, 1, 3, 40, 1e4]) {
      expect(twoSidedTail(t, 1)).toBeCloseTo(1 - (2 / Math.PI) * Math.atan(t), 12);
      expect(twoSidedTail(t, 2)).toBeCloseTo(1 - t / Math.sqrt(2 + t * t), 12);
    }
  });

  it("rejects arguments without a quantile", () => {
    expect(() => twoSidedT(1, 5)).toThrow("no t");
    expect(() => twoSidedT(0.95, 0)).toThrow("no t");
  });
});

/**
 * Hours of sleep gained by each of ten patients, of two drugs (Student, The probable error of a mean, 1908; R's data
 * set `sleep`).
 */
const FIRST_DRUG = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2];
const SECOND_DRUG = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
const SLEEP = FIRST_DRUG.map((first, index) => (SECOND_DRUG[index] ?? NaN) - first);

describe("intervals of paired differences", () => {
  it("are R's for Student's sleep data: t.test(paired = TRUE)", () => {
    const { estimate, low, high } = studentInterval(SLEEP, 0.95);
    expect(estimate).toBeCloseTo(1.58, 10);
    expect(low).toBeCloseTo(0.7001142, 7);
    expect(high).toBeCloseTo(2.4598858, 7);
    expect(twoSidedTail(4.0621, 9)).toBeCloseTo(0.002833, 6);
  });

  // Wilcoxon's signed-rank table, two-sided 5 %: the greatest sum of ranks that is significant. The interval's rank is
  // one more.
  it.each([
    [6, 0],
    [7, 2],
    [8, 3],
    [9, 5],
    [10, 8],
    [12, 13],
    [15, 25],
    [20, 52],
    [25, 89],
    [30, 137],
  ])("of %i values by ranks have the critical value %i of the published table", (n, critical) => {
    expect(signedRank(n, 0.05)).toBe(critical + 1);
  });

  it("do not exist by ranks for five values at 95 %", () => {
    expect(signedRank(5, 0.05)).toBe(0);
    expect(() => signedRankInterval([1, 2, 3, 4, 5], 0.95)).toThrow("too few for an interval");
  });

  /** Depression scores of nine patients at two visits (Hollander and Wolfe, 1973, in the help of R's wilcox.test). */
  it("are Hollander and Wolfe's for their depression scores", () => {
    const first = [1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3];
    const second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    const { estimate, low, high } = signedRankInterval(
      first.map((value, index) => value - (second[index] ?? NaN)),
      0.95,
    );
    expect(estimate).toBeCloseTo(0.46, 2);
    expect([low, high].map((each) => Number(each.toFixed(3)))).toEqual([0.01, 0.786]);
  });

  it("do not exist for two values", () => {
    expect(pairedInterval([1, 2], 0.95)).toBeUndefined();
  });
});

describe("intervals of samples that are not paired", () => {
  it("are R's for Student's sleep data taken so: t.test(), Welch", () => {
    const interval = welchInterval(FIRST_DRUG, SECOND_DRUG, 0.95);
    expect(interval?.low).toBeCloseTo(-0.2054832, 7);
    expect(interval?.high).toBeCloseTo(3.3654832, 7);
    expect(welchInterval([1, 2], SECOND_DRUG, 0.95)).toBeUndefined();
  });
});

describe("lines and power laws", () => {
  const pointsOf = (...points: readonly (readonly [x: number, y: number])[]): Point[] =>
    points.map(([x, y]) => ({ x, y }));

  it("are NIST's for the reference data set Norris", () => {
    const line = fitLine(NORRIS);
    expect(line?.slope).toBeCloseTo(1.00211681802045, 11);
    expect(line?.intercept).toBeCloseTo(-0.262323073774029, 9);
    expect(line?.slopeError).toBeCloseTo(0.000429796848199937, 12);
  });

  it("find the exponent of exact data", () => {
    const law = fitPowerLaw([[1, 2, 4, 8].map((x) => ({ x, y: 1984 * x ** 0.92 }))], 0.95);
    expect(law?.exponent.estimate).toBeCloseTo(0.92, 12);
    expect(law?.factor).toBeCloseTo(1984, 6);
    expect(law?.exponent.high).toBeCloseTo(0.92, 6);
  });

  it('contain the exponents that "Single-node multi-shard" states for its unsaturated rows', () => {
    // One CPU per shard, client not saturated: 1, 4 and 8 shards; the document states 0.87 and 0.92, each from the
    // first point alone.
    const law = fitPowerLaw([pointsOf([1, 1984], [4, 6647], [8, 13_141])], 0.95);
    expect(law?.exponent.estimate).toBeGreaterThan(0.87);
    expect(law?.exponent.estimate).toBeLessThan(0.92);
    expect(law?.exponent.low).toBeLessThan(0.87);
    expect(law?.exponent.high).toBeGreaterThan(0.92);
  });

  it("need two different x", () => {
    expect(fitPowerLaw([pointsOf([2, 1], [2, 3])], 0.95)).toBeUndefined();
    expect(fitLine([])).toBeUndefined();
  });
});
