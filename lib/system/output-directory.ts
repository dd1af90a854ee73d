import { readdirSync, rmdirSync, rmSync, writeFileSync, mkdirSync, statSync } from "node:fs";
import { join, dirname, resolve } from "node:path";
import { BadInput, codeOf, messageOf } from "../errors";
import { acquireProcessLock } from "./process-lock";

/** A directory with such a file belongs to the run that wrote the file. */
const RESULT_FILE = /^(results|summary|raw|report|soak|checkpoints)\.(json|jsonl|csv|om|txt|html)$/;
/** The files of an ordinary run need less. */
const MIN_FREE_BYTES = 1024 * 1024;

/**
 * @returns a function that releases the directory, and removes it if empty.
 * @throws BadInput if it is taken, cannot be written, has too little space, or is for a new run and holds files of
 * another
 */
export function claimOutput(directory: string, use: "new" | "continued"): () => void {
  const refused = (code: string, message: string): BadInput =>
    BadInput.of(`output directory ${directory}`, code, message);
  let unlock: (() => void) | undefined;
  try {
    makeDirectory(directory);
    unlock = acquireProcessLock(join(directory, ".run.lock"));
    if (unlock === undefined)
      throw refused("output-in-use", "another process is writing to it; name a different directory, or wait");
    const taken = use === "new" ? readdirSync(directory).filter((name) => RESULT_FILE.test(name)) : [];
    if (taken.length > 0)
      throw refused(
        "output-not-empty",
        `holds results already (${taken.join(", ")}); name a different directory, or move the results away`,
      );
    const trial = join(directory, `.trial-${process.pid}`);
    try {
      writeFileSync(trial, Buffer.alloc(MIN_FREE_BYTES));
    } finally {
      rmSync(trial, { force: true });
    }
  } catch (error) {
    unlock?.();
    if (error instanceof BadInput) throw error;
    throw refused("output-unusable", `${writeProblem(error)}; name a different directory with --output`);
  }
  return once(() => {
    unlock();
    try {
      rmdirSync(directory);
    } catch {
      // It holds files, or nobody may remove it.
    }
  });
}

/** A second release would end the claim of the next process. */
function once(release: () => void): () => void {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
}

/** The reason why a file cannot be written, such as `is full`. */
export function writeProblem(error: unknown): string {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: "may not be written",
    EPERM: "may not be written",
    EROFS: "is read-only",
    ENOSPC: "is full",
    EDQUOT: "is full",
    ENOTDIR: "is not a directory",
    EEXIST: "is not a directory",
    ENOENT: "cannot be created",
  };
  return reasons[codeOf(error) ?? ""] ?? messageOf(error);
}

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
