/** Directories for results. */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "../errors";

/**
 * Makes a directory and its missing parents, one at a time. The recursive mkdir of Node.js is not used, because it
 * never returns for a path below /proc. There, mkdir fails with ENOENT even if the parent directory exists.
 * @throws the operating system's error
 */
export function makeDirectory(path: string): void {
  const missing: string[] = [];
  for (let each = resolve(path); !exists(each); each = dirname(each)) missing.unshift(each);
  for (const each of missing) {
    try {
      mkdirSync(each);
    } catch (error) {
      // Another process may have made the directory in the meantime.
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
}

/**
 * Whether a path exists.
 * @throws the operating system's error if the path cannot be inspected, such as ENOTDIR below a file
 */
function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
