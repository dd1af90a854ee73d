import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { BadInput } from "../../../lib/errors";

const PROGRAM = "memtier_benchmark";

/** The value of the environment variable MEMTIER, or else the program in PATH. */
export function findMemtier(environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment["MEMTIER"] ?? "";
  const candidates = named === "" ? onPath(environment["PATH"] ?? "") : [named];
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  const problem = named === "" ? `there is no ${PROGRAM} on the PATH` : `MEMTIER is ${named}, which cannot be run`;
  throw BadInput.of("the load generator memtier", "no-memtier", `${problem}; ${ADVICE}`);
}

const ADVICE =
  "install it (brew install memtier_benchmark; packages.redis.io for Debian and Ubuntu; " +
  "or build github.com/redis/memtier_benchmark), or name another load generator in the workload: " +
  "valkey-benchmark sends the same reads and writes";

function onPath(path: string): string[] {
  const directories = path.split(delimiter).filter((directory) => directory !== "");
  return directories.map((directory) => join(directory, PROGRAM));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
