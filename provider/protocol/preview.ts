/**
 * Checks in a preview. If a check cannot read its object, it reports this and the preview goes on, because a preview
 * must work without an API server.
 */
import { messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/**
 * @returns the result of `look`. If `look` fails, the error is reported and the result is undefined. The update looks
 *   again, and fails if this second look fails
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
