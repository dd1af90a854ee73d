import { LocalMemtierDriver } from "../load/memtier/local-driver";
import { LocalOpenLoopDriver } from "../load/open-loop/local-driver";
import { detectFeatures } from "../load/valkey-benchmark/arguments";
import { type LocalValkeyBenchmarkOptions, LocalValkeyBenchmarkDriver } from "../load/valkey-benchmark/local-driver";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { LoadDrivers } from "./measurement-series";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { BadInput } from "../../lib/errors";

const PROGRAM = "memtier_benchmark";

const ADVICE =
  "install it (brew install memtier_benchmark; packages.redis.io for Debian and Ubuntu; " +
  "or build github.com/redis/memtier_benchmark), or name another load generator in the workload: " +
  "valkey-benchmark sends the same reads and writes";

export async function localLoadDrivers(
  options: Omit<LocalValkeyBenchmarkOptions, "features">,
  workloads: readonly MixedWorkload[],
): Promise<Omit<LoadDrivers, "signal">> {
  const { run, benchmark, serversHere } = options;
  return {
    valkeyBenchmark: new LocalValkeyBenchmarkDriver({ ...options, features: await detectFeatures(benchmark) }),
    openLoop: new LocalOpenLoopDriver({ run, serversHere }),
    memtier: needsMemtier(workloads) ? new LocalMemtierDriver({ run, program: findMemtier(), serversHere }) : undefined,
  };
}

const needsMemtier = (workloads: readonly MixedWorkload[]): boolean =>
  workloads.some(({ loadGenerator }) => loadGenerator === "memtier");

export function assertLoadGeneratorsInstalled(workloads: readonly MixedWorkload[]): void {
  if (needsMemtier(workloads)) findMemtier();
}

export function findMemtier(environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment["MEMTIER"] ?? "";
  const candidates = named === "" ? onPath(environment["PATH"] ?? "") : [named];
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  const problem = named === "" ? `there is no ${PROGRAM} on the PATH` : `MEMTIER is ${named}, which cannot be run`;
  throw BadInput.of("the load generator memtier", "no-memtier", `${problem}; ${ADVICE}`);
}

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
