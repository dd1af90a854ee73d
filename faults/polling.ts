/** Waiting for a condition by checking it again and again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../lib/errors";

export interface Polling {
  readonly intervalMs?: number | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}
type Condition = () => boolean | Promise<boolean>;

/** @returns whether the condition held in time @throws the signal's reason; what the condition throws */
export async function holdsInTime(condition: Condition, polling: Polling): Promise<boolean> {
  const deadline = performance.now() + polling.timeoutMs;
  while (!(await condition())) {
    polling.signal?.throwIfAborted();
    if (performance.now() > deadline) return false;
    await sleep(polling.intervalMs ?? 50);
  }
  return true;
}

/** @throws Failure when the condition did not hold in time; as `holdsInTime` */
export async function awaitCondition(what: string, condition: Condition, polling: Polling): Promise<void> {
  if (await holdsInTime(condition, polling)) return;
  throw new Failure(`timed out after ${Math.round(polling.timeoutMs / 1000)} s waiting until ${what}`);
}
