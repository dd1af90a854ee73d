/** Where this project keeps things. */
import { join, resolve } from "node:path";

/** The project's directory. */
export const ROOT = resolve(__dirname, "..");

/** What can be fetched or made again: unpacked packages, run directories. Another place by VALKEY_MEASURED_CACHE. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  return environment["VALKEY_MEASURED_CACHE"] ?? join(ROOT, ".cache");
}

export const runsDirectory = (): string => join(cacheDirectory(), "runs");
export const packagesDirectory = (): string => join(cacheDirectory(), "packages");
