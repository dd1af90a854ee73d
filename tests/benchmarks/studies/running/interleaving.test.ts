import { describe, expect, it } from "vitest";
import {
  type Clock,
  type SideControl,
  interleaveSlices,
} from "../../../../benchmarks/studies/running/measure-interleaved";
import { randomFrom } from "../../../../lib/statistics/random";

interface Slice {
  readonly who: number;
  readonly from: number;
  to?: number;
}

/** A clock that advances with sleep and work, with a given delay of timers. */
class FakeClock implements Clock {
  #now = 1000;
  #sleeps = 0;

  /** @param late milliseconds, for each sleep in step */
  constructor(private readonly late: (sleeps: number) => number = () => 0) {}

  readonly now = (): number => this.#now;
  readonly sleep = (length: number): Promise<void> => {
    this.#now += length + this.late(this.#sleeps++);
    return Promise.resolve();
  };

  work(length: number): void {
    this.#now += length;
  }
}

/** Two sides that record their slices. @param halted called before each pause */
function sides(
  slices: Slice[],
  clock: Clock,
  halted: (who: number) => void = () => undefined,
): readonly [SideControl, SideControl] {
  const side = (who: number): SideControl => ({
    resume: () => {
      slices.push({ who, from: clock.now() });
    },
    pause: () => {
      halted(who);
      const own = slices.filter((slice) => slice.who === who).at(-1);
      if (own !== undefined) own.to = clock.now();
    },
  });
  return [side(0), side(1)];
}

const never = new AbortController().signal;

const secondsOf = (slices: readonly Slice[], who: number): number =>
  slices.filter((slice) => slice.who === who).reduce((sum, { from, to = NaN }) => sum + to - from, 0) / 1000;

describe("alternating slices", () => {
  it("never overlap, and come in pairs of one per side, in random order", async () => {
    const slices: Slice[] = [];
    const clock = new FakeClock();
    await interleaveSlices(sides(slices, clock), 0.25, randomFrom(1), never, clock);
    expect(slices.length).toBeGreaterThan(30);
    for (const [index, { to = NaN, who }] of slices.entries()) {
      expect(slices[index + 1]?.from ?? Infinity).toBeGreaterThanOrEqual(to);
      if (index % 2 === 0) expect(slices[index + 1]?.who).toBe(1 - who);
    }
    const first = slices.filter((_, index) => index % 2 === 0).map(({ who }) => who);
    expect(new Set(first).size).toBe(2);
  });

  it("are short, of equal length within a pair, and of different lengths between pairs", async () => {
    const slices: Slice[] = [];
    const clock = new FakeClock();
    await interleaveSlices(sides(slices, clock), 1, randomFrom(3), never, clock);
    const lengths = slices.map(({ from, to = NaN }) => to - from);
    for (const [index, length] of lengths.entries())
      if (index % 2 === 1) expect(length).toBeCloseTo(lengths[index - 1] ?? NaN, 9);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(5);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(15);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeGreaterThan(8);
  });

  it("count their measured length, not the planned one", async () => {
    const slices: Slice[] = [];
    const clock = new FakeClock((sleeps) => (sleeps % 3 === 0 ? 4 : 0.1));
    const had = await interleaveSlices(sides(slices, clock), 0.2, randomFrom(2), never, clock);
    for (const who of [0, 1] as const) expect(had[who]).toBeCloseTo(secondsOf(slices, who), 9);
    expect((had[0] + had[1]) / 2).toBeGreaterThanOrEqual(0.2);
  });

  it("do not count the time of pausing and resuming", async () => {
    const slices: Slice[] = [];
    const clock = new FakeClock();
    const [quick, slow] = sides(slices, clock);
    const slowly = {
      resume: () => {
        clock.work(3);
        slow.resume();
      },
      pause: () => {
        slow.pause();
        clock.work(3);
      },
    };
    const had = await interleaveSlices([quick, slowly], 0.2, randomFrom(2), never, clock);
    expect(had[1]).toBeCloseTo(secondsOf(slices, 1), 9);
    expect(had[1]).toBeCloseTo(had[0], 9);
  });

  it("use the clock of the machine by default", async () => {
    const slices: Slice[] = [];
    const clock: Clock = { now: () => performance.now(), sleep: () => Promise.reject(new Error("not this one")) };
    const had = await interleaveSlices(sides(slices, clock), 0.1, randomFrom(5), never);
    expect((had[0] + had[1]) / 2).toBeGreaterThanOrEqual(0.1);
    for (const who of [0, 1] as const) expect(had[who]).toBeLessThanOrEqual(secondsOf(slices, who));
    for (const { from, to = NaN } of slices) expect(to - from).toBeGreaterThan(3.5);
  });

  it("end at once with both sides paused on abort", async () => {
    const slices: Slice[] = [];
    const clock = new FakeClock();
    const stopping = new AbortController();
    let halts = 0;
    const going = interleaveSlices(
      sides(slices, clock, () => {
        if (++halts === 5) stopping.abort(new Error("enough"));
      }),
      60,
      randomFrom(4),
      stopping.signal,
      clock,
    );
    await expect(going).rejects.toThrow("enough");
    expect(slices).toHaveLength(5);
    expect(slices.every(({ to }) => to !== undefined)).toBe(true);
  });
});
