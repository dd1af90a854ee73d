/** Checks in a preview. They may fail to read what they check, because a preview must work without an API server. */
import { messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/**
 * @returns the result of `look`; undefined if it fails, which is reported. The update looks again, and fails if that
 * fails
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
