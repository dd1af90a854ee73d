/** Waiting for something to be so, by looking again and again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../lib/errors";

/** Milliseconds. */
const POLL_MS = 20;

type Condition = () => boolean | Promise<boolean>;

export interface Patience {
  readonly signal: AbortSignal;
  /** Milliseconds for any one thing. */
  readonly patienceMs: number;
  /** Between two looks, milliseconds. @default 20 */
  readonly pollMs?: number | undefined;
}

/** @returns whether it came to be so in time @throws the signal's reason; what the condition throws */
export async function within({ signal, patienceMs, pollMs = POLL_MS }: Patience, holds: Condition): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    signal.throwIfAborted();
    if (performance.now() > deadline) return false;
    await sleep(pollMs);
  }
  return true;
}

/** @throws Failure once patience is over; the signal's reason; what the condition throws */
export async function until(what: string, holds: Condition, patience: Patience): Promise<void> {
  if (!(await within(patience, holds)))
    throw new Failure(`after ${Math.round(patience.patienceMs / 1000)} s it is not so that ${what}`);
}
