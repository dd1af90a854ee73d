/** What sends mixed workloads from this machine. */
import type { RunDirectory } from "../../platforms/host/run-directory";
import { LocalMemtier } from "./memtier/local-runner";
import { findMemtier } from "./memtier/program";
import { LocalOpenLoop } from "./open-loop/local-runner";
import type { Mix } from "../workloads/mix";
import type { Equipment } from "../measuring/experiment";

/**
 * Drivers for these workloads.
 * @throws BadInput where one needs a program that this machine has not
 */
export function localDrivers(run: RunDirectory, serversHere: boolean, mixes: readonly Mix[]): Pick<Equipment, "openLoop" | "memtier"> {
  const memtier = mixes.some(({ driver }) => driver === "memtier") ? new LocalMemtier({ run, program: findMemtier(), serversHere }) : undefined;
  return { openLoop: new LocalOpenLoop({ run, serversHere }), memtier };
}

/** The same question before anything starts. @throws BadInput */
export function refuseMissingDrivers(mixes: readonly Mix[]): void {
  if (mixes.some(({ driver }) => driver === "memtier")) findMemtier();
}
