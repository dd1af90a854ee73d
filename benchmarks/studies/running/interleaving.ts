/**
 * With short slices, both sides (servers and load generators of a treatment) have the same conditions: longer noise
 * affects both, and shorter noise averages out over hundreds of slices.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** A fixed length would interfere with periodic noise. */
const MIN_SLICE_MS = 5;
const MAX_SLICE_MS = 15;

export interface SideControl {
  readonly resume: () => void;
  /** First the load generators, so that no request is answered during a slice of the other side. */
  readonly pause: () => void;
}

export type Pair<T> = readonly [T, T];

export interface Clock {
  readonly now: () => number;
  readonly sleep: (length: number) => Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), sleep };

/**
 * Both sides must be paused, and are paused when it returns.
 * @param random from 0 to below 1
 * @returns the exact duration of the slices of each side, seconds
 * @throws the reason of the signal if it is aborted
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
