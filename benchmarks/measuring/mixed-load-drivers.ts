/** Drivers on this machine for the load generators of mixed workloads. */
import type { RunDirectory } from "../../platforms/host/run-directory";
import { LocalMemtierDriver } from "../load/memtier/local-driver";
import { findMemtier } from "../load/memtier/program";
import { LocalOpenLoopDriver } from "../load/open-loop/local-driver";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { LoadDrivers } from "./measurement-series";

/**
 * Drivers that the given workloads need in addition to the driver of valkey-benchmark.
 * @throws BadInput if this machine lacks a program that a workload needs
 */
export function mixedLoadDrivers(
  run: RunDirectory,
  serversHere: boolean,
  workloads: readonly MixedWorkload[],
): Pick<LoadDrivers, "openLoop" | "memtier"> {
  const memtier = workloads.some(({ loadGenerator }) => loadGenerator === "memtier")
    ? new LocalMemtierDriver({ run, program: findMemtier(), serversHere })
    : undefined;
  return { openLoop: new LocalOpenLoopDriver({ run, serversHere }), memtier };
}

/**
 * Checks before a run that this machine has the load generators for the given workloads.
 * @throws BadInput if a load generator is missing
 */
export function assertLoadGeneratorsInstalled(workloads: readonly MixedWorkload[]): void {
  if (workloads.some(({ loadGenerator }) => loadGenerator === "memtier")) findMemtier();
}
