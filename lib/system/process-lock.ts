/**
 * A lock that a process holds by files beside what it protects. A process that was killed leaves its file behind; the
 * next one takes the lock over, and of many that try at once at most one succeeds.
 *
 * Each file holds the identity of a process: PATH.1, and PATH.2 where PATH.1 was left behind. A file comes into being
 * whole, as a second link to one that is written already, and `link` fails where the name is taken: so each name has
 * one winner. A process that looked before another released the lock may win another name; each winner therefore looks
 * once more, and gives up where it sees a second one.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { codeOf } from "../errors";
import { identifyProcess, isProcessAlive } from "./process-identity";

const identitySchema = z.object({ pid: z.int(), started: z.string() });

/**
 * Takes the lock for this process.
 * @param path the directory exists
 * @returns what releases it; undefined where a live process (this one included) holds it
 * @throws Error of the file system where files cannot be written there
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

/** The numbers of the files that are there. */
function generations(path: string): number[] {
  const prefix = `${basename(path)}.`;
  const ends = readdirSync(dirname(path)).flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  );
  return ends.filter((end) => /^\d+$/.test(end)).map(Number);
}

/** @returns whether this process made the file, whole */
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

/** Whether the process that a file names is alive. A file that names none is held by none. */
function isHeld(path: string, generation: number): boolean {
  try {
    return isProcessAlive(identitySchema.parse(JSON.parse(readFileSync(fileOf(path, generation), "utf8"))));
  } catch {
    return false;
  }
}
