/** Directories to which this program writes. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, statfsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { IS_PACKAGE, ROOT } from "./package";

/**
 * The directory for unpacked packages and run directories. The program can create all content of this directory again.
 * In a checkout, the directory is `.cache`. For the installed package, it is a directory in XDG_CACHE_HOME, or in
 * ~/.cache if this variable is not set. VALKEY_MEASURED_CACHE sets a different directory.
 */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env, isPackage = IS_PACKAGE): string {
  const { VALKEY_MEASURED_CACHE: elsewhere = "", XDG_CACHE_HOME: ofUser = "" } = environment;
  if (elsewhere !== "") return resolve(elsewhere);
  if (!isPackage) return join(ROOT, ".cache");
  // The XDG Base Directory Specification says that relative paths must be ignored.
  return join(isAbsolute(ofUser) ? ofUser : join(homedir(), ".cache"), "valkey-measured");
}

/** The parent directory of all run directories. */
export const runsDirectory = (): string => join(cacheDirectory(), "runs");
/** Directory with the unpacked packages of the Valkey versions that commands use. */
export const packagesDirectory = (): string => join(cacheDirectory(), "packages");

/**
 * Directory with the packages of engines for comparisons with Valkey. These packages are not in `packagesDirectory`,
 * because `findPrograms` uses every package there.
 */
export const comparisonPackagesDirectory = (): string => join(cacheDirectory(), "packages-others");

const SHARED_MEMORY = "/dev/shm";
/** Minimum free shared memory for runs, bytes. A container can have very little shared memory. */
const MIN_FREE_BYTES = 256 * 1024 ** 2;

/**
 * The directory in shared memory for runs that do not keep their data. Shared memory is used so that such runs do not
 * wait for a disk. Undefined if shared memory has too little space.
 */
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

/** All directories in which killed runs may have left run directories. */
export function allRunsDirectories(): string[] {
  return [runsDirectory(), ownInSharedMemory(process.env)].filter((place) => place !== undefined);
}

/**
 * The directory in shared memory for this cache and this user. Undefined if there is no shared memory, or if a
 * different user owns a file with the name of the directory. Any user can create such a file in shared memory.
 */
function ownInSharedMemory(environment: NodeJS.ProcessEnv): string | undefined {
  const user = process.getuid?.();
  if (user === undefined || !existsSync(SHARED_MEMORY)) return undefined;
  const cache = createHash("sha256").update(cacheDirectory(environment)).digest("hex").slice(0, 8);
  const directory = join(SHARED_MEMORY, `valkey-measured-${user}-${cache}`);
  const owner = lstatSync(directory, { throwIfNoEntry: false });
  return owner === undefined || (owner.isDirectory() && owner.uid === user) ? directory : undefined;
}
