/** Checks of things that may not exist yet: a preview needs no API server that answers. */
import { messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

/** @returns what `look` finds; undefined when it cannot look, which is reported. The update looks again, and fails then */
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
