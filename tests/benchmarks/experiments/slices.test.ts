import { describe, expect, it } from "vitest";
import type { Party } from "../../../benchmarks/experiments/slices";
import { alternate } from "../../../benchmarks/experiments/slices";
import { randomFrom } from "../../../benchmarks/statistics/random";

interface Slice {
  readonly who: number;
  readonly from: number;
  to?: number;
}

/** Two that write down when they went and halted. @param halted told before each halt takes effect */
function parties(slices: Slice[], halted: (who: number) => void = () => undefined): readonly [Party, Party] {
  const party = (who: number): Party => ({
    go: () => { slices.push({ who, from: performance.now() }); },
    halt: () => {
      halted(who);
      const last = slices.at(-1);
      if (last !== undefined) last.to = performance.now();
    },
  });
  return [party(0), party(1)];
}

const never = new AbortController().signal;

describe("alternating slices", () => {
  it("never overlap, are short, and come in pairs of one each, in an order that changes", async () => {
    const slices: Slice[] = [];
    await alternate(parties(slices), 0.25, randomFrom(1), never);
    expect(slices.length).toBeGreaterThan(20);
    for (const [index, { from, to = NaN, who }] of slices.entries()) {
      expect(to - from).toBeGreaterThan(3.5);
      expect(slices[index + 1]?.from ?? Infinity).toBeGreaterThanOrEqual(to);
      if (index % 2 === 0) expect(slices[index + 1]?.who).toBe(1 - who);
    }
    const first = slices.filter((_, index) => index % 2 === 0).map(({ who }) => who);
    expect(new Set(first).size).toBe(2);
  });

  it("count what each had: that is what it was on for, not what was planned", async () => {
    const slices: Slice[] = [];
    const had = await alternate(parties(slices), 0.2, randomFrom(2), never);
    for (const who of [0, 1] as const) {
      const on = slices.filter((slice) => slice.who === who).reduce((sum, { from, to = NaN }) => sum + to - from, 0) / 1000;
      expect(had[who]).toBeGreaterThanOrEqual(on);
      expect(had[who] / on).toBeLessThan(1.05);
    }
    expect((had[0] + had[1]) / 2).toBeGreaterThanOrEqual(0.2);
  });

  it("are of the same length for both in a pair, and of many lengths over all", async () => {
    // Numbers that say nothing of the clock: what is asked for, not what timers make of it.
    const drawn: number[] = [];
    const random = randomFrom(3);
    await alternate(parties([]), 0.1, () => {
      const next = random();
      drawn.push(next);
      return next;
    }, never);
    // One for the length and one for the order, for each pair.
    expect(drawn.length % 2).toBe(0);
    expect(new Set(drawn).size).toBe(drawn.length);
  });

  it("end with both halted when told to stop, at once", async () => {
    const slices: Slice[] = [];
    const stopping = new AbortController();
    let halts = 0;
    const going = alternate(parties(slices, () => { if (++halts === 5) stopping.abort(new Error("enough")); }), 60, randomFrom(4), stopping.signal);
    await expect(going).rejects.toThrow("enough");
    expect(slices).toHaveLength(5);
    expect(slices.every(({ to }) => to !== undefined)).toBe(true);
  });
});
