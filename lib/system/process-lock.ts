/**
 * A lock of a process: the file PATH.1, or PATH.2 if a killed process left PATH.1, and so on, with its identity. A
 * draft is linked to that name, so the file is complete at once, and `link` fails if the name is taken. Two processes
 * can create files with different names, if one looks before an earlier holder removes its file and one afterwards: so
 * a process looks again, and gives up if a different live process holds the lock.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { codeOf } from "../errors";
import { identifyProcess, isProcessAlive } from "./process-identity";

const identitySchema = z.object({ pid: z.int(), started: z.string() });

/** @param path without the number, in an existing directory @returns the release; undefined if it is held */
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
