/**
 * The record of the restore that fills a new deployment on this machine: the file `restore.json` in the run directory of
 * the deployment. It exists from the first key on, so that an interrupted restore is continued.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Failure, messageOf } from "../../../lib/errors";
import { replaceFile } from "../../../lib/system/replace-file";
import { restoreResultSchema } from "../../../valkey/restoring/filling/fill-result";

const recordSchema = z.object({
  /** Description of the restore: the archive, the keys and the rule for TTLs, as canonical JSON. */
  order: z.string(),
  /** Time as of which the data are restored, milliseconds since the epoch. */
  at: z.number(),
  /** Time from which TTLs count, milliseconds since the epoch. */
  time: z.number(),
  /** Result of the restore. Null until every server has been compared with the archive. */
  result: restoreResultSchema.nullable(),
});

export type RestoreRecord = z.infer<typeof recordSchema>;

const fileIn = (directory: string): string => join(directory, "restore.json");

/**
 * Reads the record of a deployment.
 * @param directory run directory of the deployment
 * @returns undefined if no restore has written a key
 * @throws Failure if the record cannot be read
 */
export function readRestoreRecord(directory: string): RestoreRecord | undefined {
  const file = fileIn(directory);
  if (!existsSync(file)) return undefined;
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

export function writeRestoreRecord(directory: string, record: RestoreRecord): void {
  replaceFile(fileIn(directory), JSON.stringify(record, null, 2));
}

/** Removes the record of a deployment, if it has one. */
export function removeRestoreRecord(directory: string): void {
  rmSync(fileIn(directory), { force: true });
}
