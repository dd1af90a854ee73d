/** Where this project keeps things. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, statfsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The project's directory. */
export const ROOT = resolve(__dirname, "..");

/** What can be fetched or made again: unpacked packages, run directories. Another place by VALKEY_MEASURED_CACHE. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const elsewhere = environment["VALKEY_MEASURED_CACHE"];
  return elsewhere === undefined || elsewhere === "" ? join(ROOT, ".cache") : resolve(elsewhere);
}

export const runsDirectory = (): string => join(cacheDirectory(), "runs");
export const packagesDirectory = (): string => join(cacheDirectory(), "packages");

/** Of servers to compare with: kept apart, or they would be taken for what this machine has. */
export const comparisonPackagesDirectory = (): string => join(cacheDirectory(), "packages-others");

const SHARED_MEMORY = "/dev/shm";
/** Bytes: a container may have a tiny one. */
const LEAST_ROOM = 256 * 1024 ** 2;

/** Run directories that no disk slows down, for what is measured and never kept; undefined where there is no room for any. */
export function memoryRunsDirectory(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const directory = ownInSharedMemory(environment);
  if (directory === undefined) return undefined;
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return bavail * bsize < LEAST_ROOM ? undefined : directory;
}

/** Memory is no place to leave even a directory in. Other runs of this project may still have theirs there. */
export function removeEmptyMemoryDirectory(): void {
  const directory = ownInSharedMemory(process.env);
  try {
    if (directory !== undefined && readdirSync(directory).length === 0) rmdirSync(directory);
  } catch {
    // Nothing was ever put there, or somebody just did.
  }
}

/** Every place where a run that was killed can have left something. */
export function allRunsDirectories(): string[] {
  return [runsDirectory(), ownInSharedMemory(process.env)].filter((place) => place !== undefined);
}

/** Of this cache and this user. Everybody may write to shared memory: what somebody else put there by that name is not ours. */
function ownInSharedMemory(environment: NodeJS.ProcessEnv): string | undefined {
  const user = process.getuid?.();
  if (user === undefined || !existsSync(SHARED_MEMORY)) return undefined;
  const cache = createHash("sha256").update(cacheDirectory(environment)).digest("hex").slice(0, 8);
  const directory = join(SHARED_MEMORY, `valkey-measured-${user}-${cache}`);
  const owner = lstatSync(directory, { throwIfNoEntry: false });
  return owner === undefined || (owner.isDirectory() && owner.uid === user) ? directory : undefined;
}
