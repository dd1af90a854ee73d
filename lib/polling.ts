/** Waiting for a condition by checking it again and again. */
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "./errors";

/** How often a condition is checked, and for how long. */
export interface Polling {
  /** Between two checks, milliseconds. @default 50 */
  readonly intervalMs?: number | undefined;
  /** Milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_INTERVAL_MS = 50;

/**
 * Calls `check` until it returns something. The last check begins when the time is up, so a check that blocks the event
 * loop costs no chance.
 * @returns what `check` returned; undefined when the time is up
 * @throws the signal's reason; what `check` throws
 */
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

/** A condition that may take a request to check. */
export type Condition = () => boolean | Promise<boolean>;

/** @returns whether the condition held in time @throws as `poll` */
export async function holdsInTime(condition: Condition, polling: Polling): Promise<boolean> {
  const held = await poll(async () => ((await condition()) ? true : undefined), polling);
  return held === true;
}

/**
 * Waits until a condition holds.
 * @param what the condition, for the message: `valkey-0 is back`
 * @throws Failure when it did not hold in time; as `poll`
 */
export async function awaitCondition(
  what: string,
  condition: Condition,
  polling: Polling & { readonly timeoutMs: number },
): Promise<void> {
  if (await holdsInTime(condition, polling)) return;
  throw new Failure(`timed out after ${Math.round(polling.timeoutMs / 1000)} s waiting until ${what}`);
}

/** @throws the signal's reason, at once when it is aborted */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  // As many wait for one signal as a deployment has nodes. Node would warn of a leak from the eleventh on.
  if (signal !== undefined) setMaxListeners(0, signal);
  // The promise rejects with an AbortError of Node's, not with the signal's reason.
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}
