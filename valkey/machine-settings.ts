/** Machine settings that a platform promises for each server, and the settings that a server actually sees. */
import type { Observation } from "./observation";

/**
 * Tuning that must be in place before a measurement. In every case, transparent huge pages must be off and memory must
 * be overcommitted. The fields contain all further requirements.
 */
export interface ExpectedTuning {
  /** Lowest limit of open files that each server must have. */
  readonly openFiles: number;
  /** Length of the accept queue that a server requests, in connections. @default not promised */
  readonly acceptQueue?: number | undefined;
  /**
   * Number of CPUs of each machine that handle interrupts of the network card. They are CPU 0 and the last CPUs of the
   * machine.
   * @default any CPU
   */
  readonly interruptCpus?: number | undefined;
  /** Number of CPUs that each server has for itself; no other server uses them. @default servers share CPUs */
  readonly ownCpus?: number | undefined;
}

/** An interrupt of one queue of the network card. */
export interface QueueInterrupt {
  /** Name of the queue, such as `ens5-Tx-Rx-0`. */
  readonly name: string;
  /** CPUs that are allowed to handle the interrupt. */
  readonly cpus: readonly number[];
}

/** Machine settings as a server's container sees them. */
export interface MachineSettings {
  /** Transparent huge pages: `never`, `madvise` or `always`. */
  readonly hugePages: Observation<string>;
  /** Value of `vm.overcommit_memory`; `1` means that memory is overcommitted. */
  readonly overcommit: Observation<string>;
  /** Length of the accept queue in the server's network namespace, in connections. */
  readonly acceptQueue: Observation<number>;
  readonly openFiles: Observation<number>;
  /** CPUs on which the container is allowed to run. */
  readonly cpus: Observation<readonly number[]>;
  /** Number of the machine's CPUs. */
  readonly machineCpus: Observation<number>;
  readonly interrupts: Observation<readonly QueueInterrupt[]>;
  /** `failed` if the machine's boot script failed; `ok` if it did not fail. */
  readonly boot: Observation<string>;
}
