/** Which memtier_benchmark this machine has. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { BadInput } from "../../../lib/errors";

const PROGRAM = "memtier_benchmark";

/**
 * Its path: MEMTIER where that is set, else from the PATH.
 * @throws BadInput where it is not there, saying how to get it
 */
export function findMemtier(environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment["MEMTIER"];
  const places =
    named !== undefined && named !== ""
      ? [named]
      : (environment["PATH"] ?? "")
          .split(delimiter)
          .filter((place) => place !== "")
          .map((place) => join(place, PROGRAM));
  const found = places.find(isExecutable);
  if (found !== undefined) return found;
  const where =
    named !== undefined && named !== ""
      ? `MEMTIER is ${named}, which cannot be run`
      : `there is no ${PROGRAM} on the PATH`;
  throw new BadInput("the load generator memtier", [
    `${where}; install it (brew install memtier_benchmark; packages.redis.io for Debian and Ubuntu; or build github.com/redis/memtier_benchmark), or take another load generator for the workload: valkey-benchmark sends the same reads and writes`,
  ]);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
