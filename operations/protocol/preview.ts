/** Previews work without an API server: a check that cannot read its object reports this, and they go on. */
import { messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/** An error is reported; the update runs the check again. @returns undefined if `look` failed */
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
