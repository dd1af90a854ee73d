/** Options for a handler that waits: a time limit, an end when the update is cancelled, and progress messages. */
import type { ReportProgress, WaitOptions } from "../../lib/progress";
import type { HandlerContext } from "./resource-handler";

/** Time before the first message, milliseconds. A shorter wait prints no message. */
const FIRST_REPORT_MS = 10_000;
/**
 * Shortest time between two messages with different reasons, milliseconds. The next constant is for messages with the
 * same reason.
 */
const CHANGE_MS = 10_000;
const REPEAT_MS = 60_000;

/**
 * Options for one wait of a handler.
 * @param name name of the deployment that the handler waits for; each message begins with it
 */
export function waitOptions(name: string, timeoutSeconds: number, { signal, report }: HandlerContext): WaitOptions {
  return { timeoutMs: timeoutSeconds * 1000, signal, report: throttled(name, timeoutSeconds, report) };
}

/**
 * Limits the frequency of messages. The first message comes after 10 s. A message with a different reason comes at
 * least 10 s after the previous message. A message with the same reason comes once a minute.
 */
function throttled(name: string, timeoutSeconds: number, report: ReportProgress): ReportProgress {
  const began = Date.now();
  let last: { readonly reason: string; readonly at: number } | undefined;
  return (reason) => {
    const now = Date.now();
    if (now - began < FIRST_REPORT_MS) return;
    if (last !== undefined && now - last.at < (reason === last.reason ? REPEAT_MS : CHANGE_MS)) return;
    last = { reason, at: now };
    const seconds = Math.round((now - began) / 1000);
    report(`${name}: waited ${seconds} s of at most ${timeoutSeconds} s: ${reason}`);
  };
}
