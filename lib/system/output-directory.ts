import * as z from "zod";
import { readdirSync, rmdirSync, rmSync, writeFileSync, mkdirSync, statSync, linkSync, readFileSync } from "node:fs";
import { join, dirname, resolve, basename } from "node:path";
import { randomBytes } from "node:crypto";
import { BadInput, codeOf, messageOf } from "../errors";
import { identifyProcess, isProcessAlive } from "./process-identity";

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

const identitySchema = z.object({ pid: z.int(), started: z.string() });

/**
 * A lock of a process: the file PATH.1, or PATH.2 if a killed process left PATH.1, and so on, with its identity. A
 * draft is linked to that name, so the file is complete at once, and `link` fails if the name is taken. Two processes
 * can create files with different names, if one looks before an earlier holder removes its file and one afterwards: so
 * a process looks again, and gives up if a different live process holds the lock.
 * @param path without the number, in an existing directory
 * @returns the release; undefined if it is held
 */
export function acquireProcessLock(path: string): (() => void) | undefined {
  const seen = generations(path);
  if (seen.some((generation) => isHeld(path, generation))) return undefined;
  const own = Math.max(0, ...seen) + 1;
  if (!create(path, own)) return undefined;
  const release = (): void => {
    rmSync(fileOf(path, own), { force: true });
  };
  if (generations(path).some((generation) => generation !== own && isHeld(path, generation))) {
    release();
    return undefined;
  }
  for (const stale of seen) rmSync(fileOf(path, stale), { force: true });
  return release;
}

const fileOf = (path: string, generation: number): string => `${path}.${generation}`;

function generations(path: string): number[] {
  const prefix = `${basename(path)}.`;
  const ends = readdirSync(dirname(path)).flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  );
  return ends.filter((end) => /^\d+$/.test(end)).map(Number);
}

/** @returns whether this process created the file. A created file is complete */
function create(path: string, generation: number): boolean {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  writeFileSync(draft, JSON.stringify(identifyProcess(process.pid) ?? null), { flag: "wx" });
  try {
    linkSync(draft, fileOf(path, generation));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The process whose identity is in the file is alive. A file without an identity holds no lock. */
function isHeld(path: string, generation: number): boolean {
  try {
    return isProcessAlive(identitySchema.parse(JSON.parse(readFileSync(fileOf(path, generation), "utf8"))));
  } catch {
    return false;
  }
}
