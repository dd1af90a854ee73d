/**
 * Two under load in alternating slices of some milliseconds, so that both meet the same machine. What a neighbour takes for longer than a
 * slice it takes from both; what it takes for less is spread over hundreds of slices.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds, drawn anew for each pair of slices: a fixed length would beat with whatever else has a period. */
const LEAST_SLICE_MS = 5;
const MOST_SLICE_MS = 15;

/** One of the two. Its slice is from the end of `go` to the beginning of `halt`: what sends is to be woken last and halted first. */
export interface SideControl {
  /** Goes on where it was halted. */
  readonly resume: () => void;
  /** Stands still altogether: what is under way is answered in a later slice of its own, not in one of the other's. */
  readonly pause: () => void;
}

export type Pair<T> = readonly [T, T];

/** What time is told by. Milliseconds. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (length: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * @param sides both halted
 * @param seconds of slices that each is given, about
 * @param random from 0 to below 1: who is first in each pair of slices, and how long both are
 * @returns seconds of slices that each had, exactly; both are halted then
 * @throws the signal's reason; then, too, both are halted
 */
export async function interleaveSlices(
  sides: Pair<SideControl>,
  seconds: number,
  random: () => number,
  signal: AbortSignal,
  clock = CLOCK,
): Promise<Pair<number>> {
  const had: [number, number] = [0, 0];
  while ((had[0] + had[1]) / 2 < seconds * 1000) {
    const length = LEAST_SLICE_MS + random() * (MOST_SLICE_MS - LEAST_SLICE_MS);
    for (const who of random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      signal.throwIfAborted();
      sides[who].resume();
      const began = clock.now();
      await clock.sleep(length);
      // What it had, not what it was to have: a timer that is late gives a longer slice, and who has more to wake and to halt no shorter one.
      had[who] += clock.now() - began;
      sides[who].pause();
    }
  }
  return [had[0] / 1000, had[1] / 1000];
}
