/** What every way of moving slots works with. */
import type { Deployment } from "../deployment";
import type { ReportProgress } from "../../lib/progress";
import type { Deadline } from "../formation/deadline";
import type { Member } from "../formation/members";

/** What moving needs to know of its surroundings. */
export interface MigrationContext {
  readonly deployment: Deployment;
  readonly member: (name: string) => Member;
  readonly deadline: Deadline;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
}
