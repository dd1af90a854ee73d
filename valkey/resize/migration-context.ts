/** Context that atomic slot migration and migration key by key share. */
import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../deployment";
import type { Deadline } from "../membership/deadline";
import type { Member } from "../membership/members";

/** A slot to migrate, with the node names of its present and its new primary. */
export interface SlotMigration {
  readonly slot: number;
  readonly from: string;
  readonly to: string;
}

/** The cluster in which slots are migrated, and how to wait and to report progress. */
export interface MigrationContext {
  readonly deployment: Deployment;
  /** Finds the member with a name. */
  readonly member: (name: string) => Member;
  readonly deadline: Deadline;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
}
