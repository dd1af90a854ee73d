/** A scenario: a fault, the writes during it, and the times to wait. Plain data. */
import type { Fault } from "./fault";

/** Condition for a write to count as acknowledged. */
export interface Acknowledgement {
  /** Number of replicas that must have the write (WAIT). With 0, the reply of the primary is enough. */
  readonly replicas: number;
  /** Time limit for the replicas in WAIT, milliseconds. */
  readonly timeoutMs: number;
}

/** The writes that continue throughout a scenario. */
export interface WriteLoad {
  /** Number of writes that are due per second. The writes are evenly spaced, and go to one shard after the other. */
  readonly rate: number;
  /** Size of a value, bytes. */
  readonly bytes: number;
  /** Time limit for a reply, milliseconds. */
  readonly timeoutMs: number;
  readonly acknowledgement: Acknowledgement;
}

export interface Scenario {
  readonly name: string;
  readonly fault: Fault;
  readonly load: WriteLoad;
  /** Directives that are set for this scenario, in addition to the directives of the deployment. */
  readonly settings: ReadonlyMap<string, string>;
  /** Seconds of undisturbed writes before the fault. */
  readonly beforeSeconds: number;
  /** Seconds of writes after recovery. */
  readonly afterSeconds: number;
  /** Time limit for recovery, seconds. */
  readonly recoveryTimeoutSeconds: number;
  /** Whether roles are moved to different nodes if a failover left a replica in the zone of its primary. */
  readonly repair: boolean;
}
