/** What sends mixed workloads from this machine. */
import type { RunDirectory } from "../../platforms/host/run-directory";
import { LocalMemtierRunner } from "./memtier/local-runner";
import { findMemtier } from "./memtier/program";
import { LocalOpenLoopRunner } from "./open-loop/local-runner";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { LoadRunners } from "../measuring/measurement-series";

/**
 * Drivers for these workloads.
 * @throws BadInput where one needs a program that this machine has not
 */
export function mixedLoadRunners(
  run: RunDirectory,
  serversHere: boolean,
  mixes: readonly MixedWorkload[],
): Pick<LoadRunners, "openLoop" | "memtier"> {
  const memtier = mixes.some(({ loadGenerator }) => loadGenerator === "memtier")
    ? new LocalMemtierRunner({ run, program: findMemtier(), serversHere })
    : undefined;
  return { openLoop: new LocalOpenLoopRunner({ run, serversHere }), memtier };
}

/** The same question before anything starts. @throws BadInput */
export function assertLoadGeneratorsInstalled(mixes: readonly MixedWorkload[]): void {
  if (mixes.some(({ loadGenerator }) => loadGenerator === "memtier")) findMemtier();
}
