import type { ReportProgress, WaitOptions } from "../../lib/progress";
import type { HandlerContext } from "./resource-handler";

/** A shorter wait prints no message. */
const FIRST_REPORT_MS = 10_000;
/** Between messages with different reasons; the next constant is for the same reason. */
const CHANGE_MS = 10_000;
const REPEAT_MS = 60_000;

/** @param name name of the deployment that the handler waits for; each message begins with it */
export function waitOptions(name: string, timeoutSeconds: number, { signal, report }: HandlerContext): WaitOptions {
  return { timeoutMs: timeoutSeconds * 1000, signal, report: throttled(name, timeoutSeconds, report) };
}

/** First after 10 s, then for a different reason after 10 s, for the same once a minute. */
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
