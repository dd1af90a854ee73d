import { LocalMemtierDriver } from "../load/memtier/local-driver";
import { findMemtier } from "../load/memtier/program";
import { LocalOpenLoopDriver } from "../load/open-loop/local-driver";
import { detectFeatures } from "../load/valkey-benchmark/features";
import { type LocalValkeyBenchmarkOptions, LocalValkeyBenchmarkDriver } from "../load/valkey-benchmark/local-driver";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { LoadDrivers } from "./measurement-series";

/** @throws BadInput if this machine lacks a program that a workload needs */
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

/** @throws BadInput if this machine lacks a load generator */
export function assertLoadGeneratorsInstalled(workloads: readonly MixedWorkload[]): void {
  if (needsMemtier(workloads)) findMemtier();
}
