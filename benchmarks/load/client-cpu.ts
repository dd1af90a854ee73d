/** CPU of the load generators' side, where they are processes of this machine. */
import type { CpuUse } from "../../platforms/host/cpu";
import { availableCores } from "../../platforms/host/cpu";
import type { ClientCpu } from "./load-runner";

export interface LocalGenerators {
  /** Threads of all load generators together. */
  readonly threads: number;
  /** Cores that they are held to. @default those of this machine */
  readonly cores?: number | undefined;
  /** Cores that this program itself used. */
  readonly program: number;
  /** Whether the servers run on this machine too. */
  readonly serversHere: boolean;
}

/** @param uses one for each load generator, over the time that counts */
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
