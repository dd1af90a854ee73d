import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, statfsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { IS_PACKAGE, ROOT } from "./package";

/** `.cache` in a checkout, else in XDG_CACHE_HOME or ~/.cache; VALKEY_MEASURED_CACHE overrides it. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env, isPackage = IS_PACKAGE): string {
  const { VALKEY_MEASURED_CACHE: elsewhere = "", XDG_CACHE_HOME: ofUser = "" } = environment;
  if (elsewhere !== "") return resolve(elsewhere);
  if (!isPackage) return join(ROOT, ".cache");
  // The XDG Base Directory Specification says that relative paths must be ignored.
  return join(isAbsolute(ofUser) ? ofUser : join(homedir(), ".cache"), "valkey-measured");
}

export const runsDirectory = (): string => join(cacheDirectory(), "runs");
export const packagesDirectory = (): string => join(cacheDirectory(), "packages");

/** Not in `packagesDirectory`, because `findPrograms` uses every package there. */
export const comparisonPackagesDirectory = (): string => join(cacheDirectory(), "packages-others");

const SHARED_MEMORY = "/dev/shm";
/** A container can have very little shared memory. */
const MIN_FREE_BYTES = 256 * 1024 ** 2;

/** For runs that do not keep their data, so that they wait for no disk. Undefined if it has too little space. */
export function memoryRunsDirectory(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const directory = ownInSharedMemory(environment);
  if (directory === undefined) return undefined;
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return bavail * bsize < MIN_FREE_BYTES ? undefined : directory;
}

/** Removes the directory in shared memory, unless a different run uses this directory. */
export function removeEmptyMemoryDirectory(): void {
  const directory = ownInSharedMemory(process.env);
  try {
    if (directory !== undefined && readdirSync(directory).length === 0) rmdirSync(directory);
  } catch {
    // The directory does not exist, or a different run has just started to use it.
  }
}

export function allRunsDirectories(): string[] {
  return [runsDirectory(), ownInSharedMemory(process.env)].filter((place) => place !== undefined);
}

/** Undefined also if a different user owns a file with its name: any user can create one there. */
function ownInSharedMemory(environment: NodeJS.ProcessEnv): string | undefined {
  const user = process.getuid?.();
  if (user === undefined || !existsSync(SHARED_MEMORY)) return undefined;
  const cache = createHash("sha256").update(cacheDirectory(environment)).digest("hex").slice(0, 8);
  const directory = join(SHARED_MEMORY, `valkey-measured-${user}-${cache}`);
  const owner = lstatSync(directory, { throwIfNoEntry: false });
  return owner === undefined || (owner.isDirectory() && owner.uid === user) ? directory : undefined;
}
