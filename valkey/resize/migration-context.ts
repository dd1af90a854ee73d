import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../deployment";
import type { Deadline } from "../membership/deadline";
import type { Member } from "../membership/members";

export interface SlotMigration {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
}

export interface MigrationContext {
  readonly deployment: Deployment;
  readonly member: (name: string) => Member;
  readonly deadline: Deadline;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
}
