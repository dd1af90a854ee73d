/** CPU use of load generators that are processes on this machine. */
import type { CpuUse } from "../../platforms/host/cpu";
import { availableCores } from "../../platforms/host/cpu";
import type { ClientCpu } from "./load-driver";

/** Facts about the load generators in addition to their CPU samples. */
export interface LocalGenerators {
  /** Number of threads of all load generators together. */
  readonly threads: number;
  /** Number of cores to which the load generators are pinned. @default all cores of this machine */
  readonly cores?: number | undefined;
  /** Cores that this program itself used during the measurement. */
  readonly program: number;
  /** Whether the servers also run on this machine. */
  readonly serversHere: boolean;
}

/**
 * Returns the CPU use of the load generators and of their machine, in the form in which records contain it.
 * @param uses CPU use of each load generator in the measured time
 */
export function clientCpu(
  uses: readonly CpuUse[],
  { threads, cores, program, serversHere }: LocalGenerators,
): ClientCpu {
  const known = uses.flatMap(({ process }) => process ?? []);
  const machineCores = availableCores();
  return {
    client: known.length === uses.length ? known.reduce((sum, each) => sum + each, 0) : null,
    clientLimit: Math.min(threads, cores ?? machineCores),
    program,
    serversHere,
    machineBusy: uses[0]?.machineBusy ?? null,
    machineStolen: uses[0]?.machineStolen ?? null,
    machineCores,
  };
}
