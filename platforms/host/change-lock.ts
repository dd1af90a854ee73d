/** The lock of a deployment on this machine. An update or a repair holds the lock while it changes the servers. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "../../lib/errors";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { acquireProcessLock } from "../../lib/system/process-lock";

/** Time limit for a repair to end, milliseconds. */
const PATIENCE_MS = 360_000;
const POLL_MS = 500;

/** Path of the lock of the deployment in a run directory. */
export const changeLock = (directory: string): string => join(directory, "change");

/**
 * Takes the lock for this process.
 * @returns a function that releases the lock; undefined if a process holds the lock
 * @throws Failure when the run directory is gone
 */
export function acquireChangeLock(lock: string): (() => void) | undefined {
  if (!existsSync(dirname(lock))) throw new Failure(`run directory ${dirname(lock)} is gone`);
  return acquireProcessLock(lock);
}

/**
 * Runs a change of a deployment's servers, and holds the lock meanwhile, so that no repair changes the servers.
 * @param lock path of the lock. If it is undefined, or if its run directory is gone, the change runs without a lock,
 *   because no process can repair the servers
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
