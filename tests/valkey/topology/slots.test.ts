import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SlotRange } from "../../../valkey/topology/slots";
import {
  countSlots,
  formatRanges,
  normaliseRanges,
  parseRange,
  distributeSlots,
  SLOT_COUNT,
  subtractRanges,
} from "../../../valkey/topology/slots";
import { forAll } from "../../support/properties";

const range = fc
  .tuple(fc.nat(SLOT_COUNT - 1), fc.nat(400))
  .map(([from, length]): SlotRange => ({ from, to: Math.min(SLOT_COUNT - 1, from + length) }));
const ranges = fc.array(range, { maxLength: 12 });
const slotsOf = (list: readonly SlotRange[]): Set<number> =>
  new Set(list.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i)));

describe("slot ranges", () => {
  it("normalise to the same slots, disjoint, ascending, not touching", () => {
    forAll([ranges], (list) => {
      const result = normaliseRanges(list);
      expect(slotsOf(result)).toEqual(slotsOf(list));
      for (const [i, each] of result.entries()) expect(each.from).toBeGreaterThan((result[i - 1]?.to ?? -2) + 1);
    });
  });

  it("subtract as sets do", () => {
    forAll([ranges, ranges], (a, b) => {
      const left = slotsOf(a);
      for (const slot of slotsOf(b)) left.delete(slot);
      expect(slotsOf(subtractRanges(a, b))).toEqual(left);
    });
  });

  it("are read back from their text", () => {
    forAll([range], (each) => {
      expect(parseRange(formatRanges([each]))).toEqual(each);
    });
    expect(formatRanges([])).toBe("none");
  });

  it.each(["", "a", "-1", "5-3", "16384", "0-16384", "1-2-3", "[5->-x]"])("refuse %j", (word) => {
    expect(() => parseRange(word)).toThrow(/not a slot range/);
  });

  it("distribute all slots evenly over any number of primaries", () => {
    forAll([fc.integer({ min: 1, max: SLOT_COUNT })], { numRuns: 50 }, (count) => {
      const shares = distributeSlots(count);
      expect(normaliseRanges(shares)).toEqual([{ from: 0, to: SLOT_COUNT - 1 }]);
      expect(countSlots(shares)).toBe(SLOT_COUNT);
      const sizes = shares.map((share) => countSlots([share]));
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    });
  });
});
