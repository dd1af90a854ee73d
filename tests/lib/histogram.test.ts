import fc from "fast-check";
import { build, encodeIntoCompressedBase64 } from "hdr-histogram-js";
import { describe, expect, it } from "vitest";
import { Failure } from "../../lib/errors";
import { Histogram } from "../../lib/histogram";
import { forAll } from "../support/properties";

const latencies = fc.array(fc.integer({ min: 1, max: 100_000_000 }), { minLength: 1, maxLength: 200 });

function of(values: readonly number[]): Histogram {
  const histogram = Histogram.empty();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** By sorting. */
function exact(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

describe("a histogram", () => {
  it("merges to the histogram of all values, in any order and grouping", () => {
    forAll([fc.array(latencies, { minLength: 1, maxLength: 6 })], { numRuns: 20 }, (groups) => {
      const merged = Histogram.merge(groups.map(of));
      expect(merged.cumulative()).toEqual(of(groups.flat()).cumulative());
      expect(Histogram.merge([...groups].reverse().map(of)).cumulative()).toEqual(merged.cumulative());
      expect(
        Histogram.merge([Histogram.merge(groups.slice(0, 2).map(of)), ...groups.slice(2).map(of)]).cumulative(),
      ).toEqual(merged.cumulative());
      expect(merged.count).toBe(groups.flat().length);
      const mean = groups.flat().reduce((sum, us) => sum + us, 0) / groups.flat().length / 1000;
      expect(Math.abs(merged.meanMs / mean - 1)).toBeLessThan(0.001);
    });
  });

  it("has percentiles within a thousandth of the exact ones, and never below", () => {
    forAll([latencies, fc.constantFrom(0.5, 0.9, 0.99, 0.999, 1)], { numRuns: 100 }, (values, part) => {
      const wanted = exact(values, part);
      const found = of(values).percentileMs(part) * 1000;
      expect(found).toBeGreaterThanOrEqual(wanted - 0.001);
      expect(found).toBeLessThanOrEqual(wanted * 1.001 + 1);
    });
  });

  it("keeps every count when it is encoded and decoded", () => {
    forAll([latencies], { numRuns: 20 }, (values) => {
      expect(
        Histogram.decode(of(values).encode())
          .cumulative()
          .map(({ count }) => count),
      ).toEqual(
        of(values)
          .cumulative()
          .map(({ count }) => count),
      );
    });
  });

  it("decodes HDR histograms with other ranges and units", () => {
    const other = build({
      lowestDiscernibleValue: 1,
      highestTrackableValue: 60_000_000,
      numberOfSignificantValueDigits: 3,
    });
    other.recordValueWithCount(1_000, 7);
    other.recordValueWithCount(1_999, 2);
    const read = Histogram.decode(encodeIntoCompressedBase64(other));
    expect(read.cumulative()).toEqual([
      { ms: 1, count: 7 },
      { ms: 1.999, count: 9 },
    ]);
    expect(Histogram.decode(encodeIntoCompressedBase64(other), 1000).percentileMs(0.5)).toBeCloseTo(1000, 0);
  });

  it("rejects a text in another format", () => {
    expect(() => Histogram.decode("AAAA")).toThrow(Failure);
  });

  it("of cumulative counts holds each request with the latency of its step", () => {
    const histogram = Histogram.fromCumulative([
      { ms: 1, count: 50 },
      { ms: 2, count: 98 },
      { ms: 10, count: 100 },
    ]);
    expect([0.5, 0.51, 0.98, 0.99].map((part) => histogram.percentileMs(part))).toEqual([1, 2, 2, 10]);
    expect([histogram.count, histogram.maxMs]).toEqual([100, 10]);
  });

  it("has zeros where it is empty", () => {
    expect([Histogram.empty().percentileMs(0.99), Histogram.empty().meanMs, Histogram.empty().cumulative()]).toEqual([
      0,
      0,
      [],
    ]);
    expect(Histogram.decode(Histogram.empty().encode()).count).toBe(0);
  });
});
