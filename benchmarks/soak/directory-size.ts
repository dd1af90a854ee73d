import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../lib/errors";

/** Bytes. A file or directory that disappears during the reading counts as zero. */
export function directorySize(directory: string): number {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.reduce((sum, entry) => {
      const path = join(directory, entry.name);
      return sum + (entry.isDirectory() ? directorySize(path) : fileSize(path));
    }, 0);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return 0;
    throw error;
  }
}

function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
