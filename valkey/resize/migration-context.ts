/** Context that both ways of migrating slots share: atomically, and key by key. */
import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../deployment";
import type { Deadline } from "../membership/deadline";
import type { Member } from "../membership/members";

/** A slot to migrate, with its present and its new primary by node name. */
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
