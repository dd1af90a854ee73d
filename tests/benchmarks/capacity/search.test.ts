import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatObjective, parseObjective } from "../../../benchmarks/capacity/objective";
import { kneeOf, searchCapacity } from "../../../benchmarks/capacity/search";
import { BadInput } from "../../../lib/errors";
import { Random } from "../../../lib/statistics/random";

const PLAN = { initialRate: 1_000, maxRate: 1_000_000, precision: 0.05, confirmations: 2 };

describe("the search", () => {
  it("finds a capacity within its precision below the true one, in few probes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 30, max: 900_000 }), async (capacity) => {
        const found = await searchCapacity(PLAN, (rate) => Promise.resolve({ rate, holds: rate <= capacity }));
        expect(found.capacity).toBeLessThanOrEqual(capacity);
        expect(found.capacity).toBeGreaterThan(capacity / 1.05 - 2);
        expect(found.isOpenEnded).toBe(false);
        expect(found.probes.length).toBeLessThan(25);
      }),
    );
  });

  it("does not answer with a load that holds only now and then", async () => {
    const random = new Random(4);
    const results: number[] = [];
    for (let i = 0; i < 40; i++) {
      // Always up to 10,000, and in a fifth of the probes up to 14,000.
      const found = await searchCapacity({ ...PLAN, confirmations: 4 }, (rate) =>
        Promise.resolve({ rate, holds: rate <= 10_000 || (rate <= 14_000 && random.uniform() < 0.2) }),
      );
      results.push(found.capacity);
    }
    expect(results.filter((capacity) => capacity > 10_000).length).toBeLessThanOrEqual(4);
    expect(Math.min(...results)).toBeGreaterThan(9_000);
  });

  it("does not stop at a load that fails only now and then", async () => {
    const random = new Random(5);
    const [results, made]: [number[], number[]] = [[], []];
    for (let i = 0; i < 400; i++) {
      // A stall of the machine fails every twentieth probe, at any load.
      const found = await searchCapacity({ ...PLAN, precision: 0.1, confirmations: 3 }, (rate) =>
        Promise.resolve({ rate, holds: rate <= 60_000 && random.uniform() >= 0.05 }),
      );
      results.push(found.capacity);
      made.push(found.probes.length);
    }
    expect(Math.max(...results)).toBeLessThanOrEqual(60_000);
    results.sort((a, b) => a - b);
    // All but four of 400 are within the precision, and none is far off.
    expect(results[4]).toBeGreaterThan(60_000 / 1.1);
    expect(results[0]).toBeGreaterThan(30_000);
    expect(Math.max(...made)).toBeLessThan(60);
  });

  it("answers with a load that holds in most of its own confirmations", async () => {
    const offered = new Map<number, boolean[]>();
    const found = await searchCapacity({ ...PLAN, precision: 0.1, confirmations: 3 }, (rate) => {
      const before = offered.get(rate) ?? [];
      // Above 8,000 the first probe of a load holds and no other.
      const holds = rate <= 8_000 || (before.length === 0 && rate < 20_000);
      offered.set(rate, [...before, holds]);
      return Promise.resolve({ rate, holds });
    });
    expect(found.capacity).toBeLessThanOrEqual(8_000);
    expect(found.capacity).toBeGreaterThan(7_000);
  });

  it("finds 0 when no load holds, and an open end when every load holds", async () => {
    expect(await searchCapacity(PLAN, (rate) => Promise.resolve({ rate, holds: false }))).toMatchObject({
      capacity: 0,
      isOpenEnded: false,
    });
    const offered: number[] = [];
    expect(
      await searchCapacity({ ...PLAN, maxRate: 100 }, (rate) => {
        offered.push(rate);
        return Promise.resolve({ rate, holds: rate < 30 });
      }),
    ).toMatchObject({ isOpenEnded: false });
    expect(Math.max(...offered)).toBe(100);
    expect(
      await searchCapacity({ ...PLAN, maxRate: 5_000 }, (rate) => Promise.resolve({ rate, holds: true })),
    ).toMatchObject({ capacity: 5_000, isOpenEnded: true });
  });
});

describe("the knee", () => {
  it("is where the latency of a queue begins to rise", () => {
    // M/M/1: 1 / (1 − load), which bends between a half and nine tenths.
    const points = Array.from({ length: 50 }, (_, index) => ({
      rate: 20 * index + 10,
      ms: 1 / (1 - (20 * index + 10) / 1000),
    }));
    expect(kneeOf(points)?.rate).toBeGreaterThan(600);
    expect(kneeOf(points)?.rate).toBeLessThan(960);
  });

  it("is absent from a straight line, and with too few points", () => {
    const kneeOfPoints = (...ms: readonly number[]): unknown =>
      kneeOf(ms.map((each, index) => ({ rate: index + 1, ms: each })));
    expect(kneeOfPoints(1, 9)).toBeUndefined();
    expect(kneeOfPoints(1, 1, 1)).toBeUndefined();
  });
});

describe("an objective", () => {
  it.each([
    ["p99=2ms", 0.99, 2],
    ["p99.9 <= 500us", 0.999, 0.5],
    ["p50:1s", 0.5, 1000],
  ])("%s is a percentile and a latency", (text, quantile, ms) => {
    const objective = parseObjective(text);
    expect(objective.quantile).toBeCloseTo(quantile, 9);
    expect(objective.ms).toBeCloseTo(ms, 9);
  });

  it("is formatted with its percentile and milliseconds", () => {
    expect(formatObjective(parseObjective("p99.9=500us"))).toBe("p99.9 ≤ 0.5 ms");
  });

  it.each(["", "99=2ms", "p99=2", "p0=1ms", "p99=0ms", "p100=1ms"])("%j is none", (text) => {
    expect(() => parseObjective(text)).toThrow(BadInput);
  });
});
