/**
 * Checks in a preview. A preview must work without an API server. If a check cannot read its object, the check reports
 * this, and the preview goes on. The texts about changes are in the handlers (`describeChange`).
 */
import { messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/**
 * Runs a check in a preview. If `look` fails, the error is reported. The update that follows the preview runs the check
 * again, and fails if the check fails again.
 * @returns the result of `look`; undefined if `look` failed
 */
export async function inspectOrReport<T>(
  name: string,
  report: ReportProgress,
  look: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    report(`${name}: not checked before the update (${messageOf(error)})`);
    return undefined;
  }
}
