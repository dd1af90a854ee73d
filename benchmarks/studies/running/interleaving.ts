/**
 * Sends load to two sides in alternating slices of some milliseconds. A side consists of the servers and load
 * generators of one treatment. With short slices, both sides have the same conditions on the machine. Noise that lasts
 * longer than a slice affects both sides. Shorter noise averages out over hundreds of slices.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** Bounds of the random slice lengths, milliseconds. A fixed length would interfere with periodic noise. */
const MIN_SLICE_MS = 5;
const MAX_SLICE_MS = 15;

/** Controls one side. The slice of a side lasts from the end of `resume` to the beginning of `pause`. */
export interface SideControl {
  /** Resumes first the servers, and then their load generators. */
  readonly resume: () => void;
  /**
   * Pauses first the load generators, and then the servers. In this order, no request is answered during a slice of the
   * other side.
   */
  readonly pause: () => void;
}

export type Pair<T> = readonly [T, T];

/** A clock in milliseconds. Tests use a different clock. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (length: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * Gives slices to both sides in turn. Both sides must be paused when this function is called. Both sides are paused
 * when it returns.
 * @param seconds approximate total duration of the slices of each side
 * @param random random numbers from 0 to below 1, for the order and the length of each pair of slices
 * @returns the exact total duration of the slices of each side, seconds
 * @throws the reason of the signal if the signal is aborted
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
    const length = MIN_SLICE_MS + random() * (MAX_SLICE_MS - MIN_SLICE_MS);
    for (const side of random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      signal.throwIfAborted();
      sides[side].resume();
      const began = clock.now();
      await clock.sleep(length);
      // The measured length of a slice is added, because a late timer makes a slice longer. The time for pausing and
      // resuming is not added.
      had[side] += clock.now() - began;
      sides[side].pause();
    }
  }
  return [had[0] / 1000, had[1] / 1000];
}
