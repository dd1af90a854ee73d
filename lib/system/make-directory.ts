import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "../errors";

/** The recursive mkdir of Node.js never returns below /proc, where mkdir fails with ENOENT though the parent exists. */
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

/** @throws the operating system's error if the path cannot be inspected, such as ENOTDIR below a file */
function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
