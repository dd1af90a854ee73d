import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "./errors";

export interface Polling {
  /** Time between two checks, milliseconds. @default 50 */
  readonly intervalMs?: number | undefined;
  /** Time limit, milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_INTERVAL_MS = 50;

/** The last check begins when the time is up, even after a blocked event loop. @returns undefined then */
export async function poll<T>(
  check: () => T | undefined | Promise<T | undefined>,
  polling: Polling = {},
): Promise<T | undefined> {
  const { intervalMs = DEFAULT_INTERVAL_MS, timeoutMs = Infinity, signal } = polling;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const late = performance.now() >= deadline;
    const found = await check();
    if (found !== undefined || late) return found;
    await pause(Math.min(intervalMs, Math.max(0, deadline - performance.now())), signal);
  }
}

/** A longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `AbortSignal.any` does not keep an `AbortSignal.timeout` alive: without further references, it can be lost. */
export async function withTimeLimit<T>(
  signal: AbortSignal,
  ms: number,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const end = performance.now() + ms;
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    const left = end - performance.now();
    if (left <= 0) limit.abort(new DOMException("the time limit has passed", "TimeoutError"));
    else timer = setTimeout(arm, Math.min(left, LONGEST_TIMER_MS));
  };
  arm();
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    clearTimeout(timer);
  }
}

export type Condition = () => boolean | Promise<boolean>;

export async function holdsInTime(condition: Condition, polling: Polling): Promise<boolean> {
  const held = await poll(async () => ((await condition()) ? true : undefined), polling);
  return held === true;
}

/** @param what the condition for the message: `valkey-0 is back`. @throws Failure if it did not hold in time */
export async function awaitCondition(
  what: string,
  condition: Condition,
  polling: Polling & { readonly timeoutMs: number },
): Promise<void> {
  if (await holdsInTime(condition, polling)) return;
  throw new Failure(`timed out after ${Math.round(polling.timeoutMs / 1000)} s waiting until ${what}`);
}

/** @throws the signal's reason, as soon as the signal is aborted */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  // One caller for each node of a deployment may wait for the same signal. Without this line, Node.js would warn about
  // a leak from the eleventh caller on.
  if (signal !== undefined) setMaxListeners(0, signal);
  // The promise rejects with an AbortError of Node.js, not with the signal's reason.
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}
