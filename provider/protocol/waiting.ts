/** How a handler waits for pods and volumes: with a time limit, until the update is cancelled, and not in silence. */
import type { ReportProgress, WaitOptions } from "../../lib/progress";
import type { HandlerContext } from "./resource-handler";

/** A wait that ends before this is not worth a line. Milliseconds. */
const FIRST_REPORT_MS = 10_000;
/** Milliseconds between lines with different reasons, and with the same one. */
const CHANGE_MS = 10_000;
const REPEAT_MS = 60_000;

/** @param name of what is waited for, which begins each line */
export function waitOptions(name: string, timeoutSeconds: number, { signal, report }: HandlerContext): WaitOptions {
  return { timeoutMs: timeoutSeconds * 1000, signal, report: throttled(name, timeoutSeconds, report) };
}

/** Passes on the first reason after a while, then another reason soon, and the same reason once a minute. */
function throttled(name: string, timeoutSeconds: number, report: ReportProgress): ReportProgress {
  const began = Date.now();
  let last: { readonly reason: string; readonly at: number } | undefined;
  return (reason) => {
    const now = Date.now();
    if (now - began < FIRST_REPORT_MS) return;
    if (last !== undefined && now - last.at < (reason === last.reason ? REPEAT_MS : CHANGE_MS)) return;
    last = { reason, at: now };
    const seconds = Math.round((now - began) / 1000);
    report(`${name}: waiting for ${seconds} s of at most ${timeoutSeconds} s: ${reason}`);
  };
}
