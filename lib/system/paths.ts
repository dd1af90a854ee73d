/** Directories that this program writes to. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, statfsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { IS_PACKAGE, ROOT } from "./package";

/**
 * The directory for unpacked packages and run directories, which can be created again: `.cache` in a checkout; for the
 * installed package a directory in the user's own cache, XDG_CACHE_HOME or else ~/.cache. VALKEY_MEASURED_CACHE sets
 * another one.
 */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env, isPackage = IS_PACKAGE): string {
  const { VALKEY_MEASURED_CACHE: elsewhere = "", XDG_CACHE_HOME: ofUser = "" } = environment;
  if (elsewhere !== "") return resolve(elsewhere);
  if (!isPackage) return join(ROOT, ".cache");
  // Relative paths are to be ignored, says the XDG Base Directory Specification.
  return join(isAbsolute(ofUser) ? ofUser : join(homedir(), ".cache"), "valkey-measured");
}

/** The parent of run directories. */
export const runsDirectory = (): string => join(cacheDirectory(), "runs");
/** Unpacked packages of the Valkey that commands use. */
export const packagesDirectory = (): string => join(cacheDirectory(), "packages");

/**
 * Packages of engines to compare with. They are kept apart, because `findPrograms` takes whatever it finds in
 * `packagesDirectory`.
 */
export const comparisonPackagesDirectory = (): string => join(cacheDirectory(), "packages-others");

const SHARED_MEMORY = "/dev/shm";
/** Bytes. The shared memory of a container may be tiny. */
const MIN_FREE_BYTES = 256 * 1024 ** 2;

/**
 * The directory for runs whose data should not wait for a disk and is not kept; undefined where shared memory has too
 * little room.
 */
export function memoryRunsDirectory(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const directory = ownInSharedMemory(environment);
  if (directory === undefined) return undefined;
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return bavail * bsize < MIN_FREE_BYTES ? undefined : directory;
}

/** Removes the directory in shared memory, unless another run uses it. */
export function removeEmptyMemoryDirectory(): void {
  const directory = ownInSharedMemory(process.env);
  try {
    if (directory !== undefined && readdirSync(directory).length === 0) rmdirSync(directory);
  } catch {
    // The directory does not exist, or another run has just started to use it.
  }
}

/** All directories where killed runs may have left run directories. */
export function allRunsDirectories(): string[] {
  return [runsDirectory(), ownInSharedMemory(process.env)].filter((place) => place !== undefined);
}

/**
 * The directory of this cache and user in shared memory; undefined where another user owns that name, because all may
 * write there.
 */
function ownInSharedMemory(environment: NodeJS.ProcessEnv): string | undefined {
  const user = process.getuid?.();
  if (user === undefined || !existsSync(SHARED_MEMORY)) return undefined;
  const cache = createHash("sha256").update(cacheDirectory(environment)).digest("hex").slice(0, 8);
  const directory = join(SHARED_MEMORY, `valkey-measured-${user}-${cache}`);
  const owner = lstatSync(directory, { throwIfNoEntry: false });
  return owner === undefined || (owner.isDirectory() && owner.uid === user) ? directory : undefined;
}
