import { describe, expect, it } from "vitest";
import { parseQuantity } from "../../../platforms/kubernetes/quantity";

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

  it.each(["", "x", "1Zi", "1 Gi"])("not %j", (text) => {
    expect(parseQuantity(text)).toBeNaN();
  });
});
