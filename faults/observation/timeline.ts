/** The outcomes of writes over time, computed from their history. Pure. */
import type { Write, WriteOutcome } from "../writes/write-history";

/** Numbers of writes in time steps of equal duration. */
export interface Timeline {
  /** Beginning of the first step, milliseconds from the fault. It is negative if the step begins before the fault. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly acknowledged: readonly number[];
  readonly failed: readonly number[];
  readonly unknown: readonly number[];
}

/** Highest number of steps. A timeline that would need more steps has longer steps than STEP_MS. */
const MAX_STEPS = 600;
const STEP_MS = 50;

/** The timeline of writes. Each write counts in the step in which it ended. */
export function timelineOf(writes: readonly Write[], faultMs: number): Timeline {
  const ends = writes.map(({ endedMs }) => endedMs - faultMs);
  const first = ends.reduce((a, b) => Math.min(a, b), 0);
  const last = ends.reduce((a, b) => Math.max(a, b), 0);
  const stepMs = STEP_MS * Math.max(1, Math.ceil((last - first) / STEP_MS / MAX_STEPS));
  const fromMs = Math.floor(first / stepMs) * stepMs;
  const steps = Math.floor((last - fromMs) / stepMs) + 1;
  const zeros = (): number[] => new Array<number>(steps).fill(0);
  const counts: Record<WriteOutcome["kind"], number[]> = { acknowledged: zeros(), failed: zeros(), unknown: zeros() };
  for (const [index, { outcome }] of writes.entries()) {
    const step = Math.floor(((ends[index] ?? 0) - fromMs) / stepMs);
    const list = counts[outcome.kind];
    list[step] = (list[step] ?? 0) + 1;
  }
  return { fromMs, stepMs, ...counts };
}
