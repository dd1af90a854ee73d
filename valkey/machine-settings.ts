/** Settings that a platform promises of the machine under a server, and those that the server sees. Plain data. */
import type { Observation } from "./observation";

/** Tuning that holds before anything is measured: transparent huge pages are off, memory is overcommitted, and more. */
export interface ExpectedTuning {
  /** Least limit of open files of a server. */
  readonly openFiles: number;
  /** Connections that a server asks the accept queue to hold. @default not promised */
  readonly acceptQueue?: number | undefined;
  /** CPUs of each machine that handle the network card's interrupts: CPU 0, then from the last one down. @default any */
  readonly interruptCpus?: number | undefined;
  /** CPUs that each server has to itself. @default shared ones */
  readonly ownCpus?: number | undefined;
}

/** An interrupt of a network card's queue. */
export interface QueueInterrupt {
  /** `ens5-Tx-Rx-0` */
  readonly name: string;
  /** CPUs that may handle it. */
  readonly cpus: readonly number[];
}

/** Machine settings as a server's container sees them. */
export interface MachineSettings {
  /** `never`, `madvise` or `always`. */
  readonly hugePages: Observation<string>;
  /** `1` */
  readonly overcommit: Observation<string>;
  /** Number of connections that may wait to be accepted in the server's network. */
  readonly acceptQueue: Observation<number>;
  readonly openFiles: Observation<number>;
  /** CPUs that the container may run on. */
  readonly cpus: Observation<readonly number[]>;
  /** Number of the machine's CPUs. */
  readonly machineCpus: Observation<number>;
  readonly interrupts: Observation<readonly QueueInterrupt[]>;
  /** `failed` where the machine's boot script failed; `ok` otherwise. */
  readonly boot: Observation<string>;
}
