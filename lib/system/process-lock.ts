/**
 * A lock that a process holds by a file next to the protected file. If a process is killed, its lock file stays, and
 * the next process takes over the lock. If several processes try to take the lock at the same time, at most one process
 * succeeds.
 *
 * Each lock file contains the identity of a process. The file is PATH.1, or PATH.2 if a killed process left PATH.1, and
 * so on. A process writes a draft, and then creates the lock file as a second link to the draft. So the lock file is
 * complete at once. `link` fails if the name is taken, so only one process can create a lock file with this name.
 *
 * Two processes can create lock files with different names: one process looks for lock files before an earlier holder
 * removes its file, and the second process looks afterwards. So a process looks again after it has created its file,
 * and gives up if a different live process holds the lock.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { codeOf } from "../errors";
import { identifyProcess, isProcessAlive } from "./process-identity";

const identitySchema = z.object({ pid: z.int(), started: z.string() });

/**
 * Takes the lock for this process.
 * @param path path of the lock without the number. The directory of the lock must exist
 * @returns a function that releases the lock. Undefined if this process or a different live process already holds the
 * lock
 * @throws Error of the file system if the lock files cannot be written
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

/** The numbers of the lock files that exist. */
function generations(path: string): number[] {
  const prefix = `${basename(path)}.`;
  const ends = readdirSync(dirname(path)).flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  );
  return ends.filter((end) => /^\d+$/.test(end)).map(Number);
}

/** Creates a lock file. @returns whether this process created the file. A created file is complete */
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

/**
 * Whether a process holds the lock by the given file. This is the case if the process whose identity is in the file is
 * alive. A file without an identity holds no lock.
 */
function isHeld(path: string, generation: number): boolean {
  try {
    return isProcessAlive(identitySchema.parse(JSON.parse(readFileSync(fileOf(path, generation), "utf8"))));
  } catch {
    return false;
  }
}
