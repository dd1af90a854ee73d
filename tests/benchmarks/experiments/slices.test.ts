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
      expect(had[who]).toBeLessThanOrEqual(on);
      expect(had[who] / on).toBeGreaterThan(0.95);
    }
    expect((had[0] + had[1]) / 2).toBeGreaterThanOrEqual(0.2);
  });

  it("count nothing of what it takes to wake and to halt: who has more processes had no longer slices", async () => {
    const slices: Slice[] = [];
    const wait = (ms: number): void => { for (const until = performance.now() + ms; performance.now() < until;); };
    const [quick, slow] = parties(slices);
    const slowly = { go: () => { wait(3); slow.go(); }, halt: () => { slow.halt(); wait(3); } };
    const had = await alternate([quick, slowly], 0.2, randomFrom(2), never);
    const on = slices.filter(({ who }) => who === 1).reduce((sum, { from, to = NaN }) => sum + to - from, 0) / 1000;
    expect(had[1] / on).toBeGreaterThan(0.95);
    expect(had[1] / on).toBeLessThanOrEqual(1);
  });

  it("are of the same length for both in a pair, and of many lengths over all", async () => {
    const slices: Slice[] = [];
    await alternate(parties(slices), 0.3, randomFrom(3), never);
    const lengths = slices.map(({ from, to = NaN }) => to - from);
    // A timer that is late makes one slice of a pair longer; most are on time.
    const apart = lengths.flatMap((length, index) => (index % 2 === 0 ? [] : [Math.abs(length - (lengths[index - 1] ?? NaN))])).sort((a, b) => a - b);
    expect(apart[Math.floor(apart.length / 2)]).toBeLessThan(1.5);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeGreaterThan(6);
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
