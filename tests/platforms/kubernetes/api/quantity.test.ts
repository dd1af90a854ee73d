import { describe, expect, it } from "vitest";
import { canonicalQuantity, parseQuantity } from "../../../../platforms/kubernetes/api/quantity";

describe("quantities", () => {
  it.each([
    ["2", 2],
    ["500m", 0.5],
    ["1.5", 1.5],
    ["4015836Ki", 4015836 * 1024],
    ["1Gi", 1024 ** 3],
    ["1G", 1e9],
    ["12e3", 12_000],
    ["1E", 1e18],
    ["100n", 1e-7],
  ])("%s", (text, value) => {
    expect(parseQuantity(text)).toBeCloseTo(value, 12);
  });

  it.each(["", "x", "1Zi", "1 Gi", "1e400"])("not %j", (text) => {
    expect(parseQuantity(text)).toBeNaN();
  });

  // As the API server prints them, but for decimals that are shorter with a binary suffix.
  it.each([
    ["1024Mi", "1Gi"],
    ["1Gi", "1Gi"],
    ["1.5Gi", "1536Mi"],
    ["1000M", "1G"],
    ["10G", "10G"],
    ["2000Mi", "2000Mi"],
    ["1073741824", "1Gi"],
    ["some", "some"],
  ])("%s is written as %s", (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });
});
