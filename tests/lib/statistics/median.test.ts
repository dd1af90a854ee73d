import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { median, medianInterval } from "../../../lib/statistics/median";
import { forAll } from "../../support/properties";

const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 60 });

describe("medianInterval", () => {
  it("contains the median, and ends at measured values", () => {
    forAll([values], (all) => {
      const { median: middle, low, high } = medianInterval(all);
      expect(low).toBeLessThanOrEqual(middle);
      expect(high).toBeGreaterThanOrEqual(middle);
      expect(all).toContain(low);
      expect(all).toContain(high);
    });
  });

  it("does not depend on the order", () => {
    forAll([values], (all) => {
      expect(medianInterval([...all].reverse())).toEqual(medianInterval(all));
    });
  });

  // The tables of the sign test: n, the rank of the interval's ends, its confidence.
  it.each([
    [1, 1, 0],
    [2, 1, 0.5],
    [3, 1, 0.75],
    [5, 1, 0.9375],
    [6, 1, 0.96875],
    [8, 1, 0.9922],
    [9, 2, 0.9609],
    [10, 2, 0.9785],
    [20, 6, 0.9586],
  ])("of %i values lies between those of rank %i from either end", (n, rank, confidence) => {
    const interval = medianInterval(Array.from({ length: n }, (_, index) => index + 1));
    expect([interval.low, interval.high]).toEqual([rank, n + 1 - rank]);
    expect(interval.confidence).toBeCloseTo(confidence, 4);
  });

  it("of no values is an error", () => {
    expect(() => median([])).toThrow("at least one value");
  });
});
