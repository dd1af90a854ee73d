/** CPU of load generators that are processes on this machine. */
import type { CpuUse } from "../../platforms/host/cpu";
import { availableCores } from "../../platforms/host/cpu";
import type { ClientCpu } from "./load-driver";

/** Facts about the load generators beside their samples. */
export interface LocalGenerators {
  /** Threads of all load generators together. */
  readonly threads: number;
  /** Cores that they are pinned to. @default all cores of this machine */
  readonly cores?: number | undefined;
  /** Cores that this program itself used meanwhile. */
  readonly program: number;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
}

/**
 * CPU of the load generators' side, as records have it.
 * @param uses one for each load generator, over the time that counts
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
