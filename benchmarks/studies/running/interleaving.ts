/**
 * Two sides under load in alternating slices of some milliseconds, so that both have the same machine. Noise that lasts
 * longer than a slice affects both sides; shorter noise averages out over hundreds of slices.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** Bounds of random slice lengths, milliseconds; a fixed length would interfere with periodic noise. */
const MIN_SLICE_MS = 5;
const MAX_SLICE_MS = 15;

/** Controls one side. Its slice lasts from the end of `resume` to the begin of `pause`. */
export interface SideControl {
  /** Resumes the servers, then their load generators. */
  readonly resume: () => void;
  /** Pauses the load generators, then the servers, so that no request is answered in a slice of the other side. */
  readonly pause: () => void;
}

/** A value for each of the two sides. */
export type Pair<T> = readonly [T, T];

/** Time in milliseconds; tests replace it. */
export interface Clock {
  readonly now: () => number;
  readonly sleep: (length: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * Gives both sides slices in turn; both are paused before and afterwards.
 * @param seconds of slices for each side, approximately
 * @param random from 0 to below 1: order and length of each pair of slices
 * @returns the exact seconds of slices of each side
 * @throws the reason of the signal
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
      // The measured length: a late timer makes a slice longer, and the time to pause and resume does not count.
      had[side] += clock.now() - began;
      sides[side].pause();
    }
  }
  return [had[0] / 1000, had[1] / 1000];
}
