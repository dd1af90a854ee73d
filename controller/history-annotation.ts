/**
 * The history of repairs as an annotation of the Lease, so that the history outlives the controller's process. A pod
 * that restarts again and again therefore does not repair more often. `healing.ts` has the limits of repairs. Pure.
 */
import * as z from "zod";
import type { LeaseNotes } from "../platforms/kubernetes/api/lease";
import type { RepairHistory } from "./healing";

const REPAIRS_NOTE = "valkey/repairs";

const schema = z.object({ repairs: z.array(z.number()), inVain: z.number().min(0), isUnfinished: z.boolean() });

/** Annotation with the history. */
export function historyNote({ repairs, inVain, isUnfinished }: RepairHistory): LeaseNotes {
  return { [REPAIRS_NOTE]: JSON.stringify({ repairs, inVain, isUnfinished }) };
}

/**
 * The history in the annotations; undefined if the annotations contain no history, or if the history cannot be read.
 */
export function historyIn(notes: LeaseNotes): RepairHistory | undefined {
  try {
    return schema.parse(JSON.parse(notes[REPAIRS_NOTE] ?? "null"));
  } catch {
    return undefined;
  }
}
