import { parseFlatReply } from "./replies";
import { type SlotRange, parseRange } from "./slots";

/** An entry of CLUSTER GETSLOTMIGRATIONS. The source and the target of a migration each have an entry. */
export interface MigrationJob {
  readonly name: string;
  /** `EXPORT` on the source, `IMPORT` on the target. */
  readonly operation: string;
  readonly slots: readonly SlotRange[];
  /** Node ID of the node that owned the slots when the migration began. */
  readonly source: string;
  /** Node ID of the node that receives the slots. */
  readonly target: string;
  readonly state: string;
  readonly message: string;
  /** Number of bytes that the source must still send. */
  readonly remaining: string;
}

const ENDED = new Set(["success", "failed", "cancelled"]);

export function hasEnded({ state }: MigrationJob): boolean {
  return ENDED.has(state);
}

export function parseMigrationJobs(reply: unknown): MigrationJob[] {
  const entries = Array.isArray(reply) ? reply.map(parseFlatReply) : [];
  return entries.map((fields) => ({
    name: fields.get("name") ?? "",
    operation: fields.get("operation") ?? "",
    slots: (fields.get("slot_ranges") ?? "").split(" ").filter(Boolean).map(parseRange),
    source: fields.get("source_node") ?? "",
    target: fields.get("target_node") ?? "",
    state: fields.get("state") ?? "",
    message: fields.get("message") ?? "",
    remaining: fields.get("remaining_repl_size") ?? "",
  }));
}
