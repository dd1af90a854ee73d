/** Common context of the two kinds of slot migration: atomic, and key by key. */
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

/** The cluster in which slots are migrated, and functions for waiting and for reporting progress. */
export interface MigrationContext {
  readonly deployment: Deployment;
  /** Finds a node of the cluster by name. */
  readonly member: (name: string) => Member;
  readonly deadline: Deadline;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
}
