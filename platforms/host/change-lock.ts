import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../../lib/errors";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { acquireProcessLock } from "../../lib/system/process-lock";

const PATIENCE_MS = 360_000;
const POLL_MS = 500;

export const changeLock = (directory: string): string => join(directory, "change");

/** @returns the release; undefined if a process holds it @throws Failure when the run directory is gone */
export function acquireChangeLock(lock: string): (() => void) | undefined {
  if (!existsSync(dirname(lock))) throw new Failure(`run directory ${dirname(lock)} is gone`);
  return acquireProcessLock(lock);
}

/**
 * Holds the lock, so that no repair changes the servers.
 * @param lock if undefined, or if its run directory is gone, no process can repair the servers
 * @throws Failure when a repair does not end in time
 */
export async function changeAlone<T>(
  { name, lock }: { readonly name: string; readonly lock: string | undefined },
  { signal, report }: { readonly signal: AbortSignal; readonly report: ReportProgress },
  change: () => Promise<T>,
): Promise<T> {
  if (lock === undefined || !existsSync(dirname(lock))) return change();
  let release = acquireProcessLock(lock);
  if (release === undefined) {
    report(`waiting until a repair of ${name} ends`);
    release = await poll(() => acquireProcessLock(lock), { intervalMs: POLL_MS, timeoutMs: PATIENCE_MS, signal });
  }
  if (release === undefined) throw new Failure(`${name}: a different process is changing the servers (lock ${lock})`);
  try {
    return await change();
  } finally {
    release();
  }
}
