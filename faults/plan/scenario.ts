/** A scenario: a fault, the writes during it, and the times to wait. Plain data. */
import type { Fault } from "./fault";

/** Condition for a write to count as acknowledged. */
export interface Acknowledgement {
  /** Number of replicas that must have the write (WAIT). 0 means that the primary's reply is enough. */
  readonly replicas: number;
  /** Time for which WAIT waits for the replicas, milliseconds. */
  readonly timeoutMs: number;
}

/** The writes that continue throughout a scenario. */
export interface WriteLoad {
  /** Writes due per second. They are evenly spaced, and go to one shard after the other. */
  readonly rate: number;
  /** Size of a value, bytes. */
  readonly bytes: number;
  /** Time for which a client waits for a reply, milliseconds. */
  readonly timeoutMs: number;
  readonly acknowledgement: Acknowledgement;
}

export interface Scenario {
  readonly name: string;
  readonly fault: Fault;
  readonly load: WriteLoad;
  /** Directives that are set for this scenario, in addition to the deployment's own. */
  readonly settings: ReadonlyMap<string, string>;
  /** Seconds of undisturbed writes before the fault. */
  readonly beforeSeconds: number;
  /** Seconds of writes after recovery. */
  readonly afterSeconds: number;
  /** Time limit for recovery, seconds. */
  readonly recoveryTimeoutSeconds: number;
  /** Whether roles are moved if a failover left a replica in its primary's zone. */
  readonly repair: boolean;
}
