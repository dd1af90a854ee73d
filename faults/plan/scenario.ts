/** A scenario: a fault, the writes meanwhile, and how long to wait. Plain data. */
import type { Fault } from "./fault";

/** When a write counts as acknowledged. */
export interface Acknowledgement {
  /** Replicas that must have the write (WAIT). 0: the primary's reply is enough. */
  readonly replicas: number;
  /** How long WAIT waits for them, milliseconds. */
  readonly timeoutMs: number;
}

/** The writes that continue throughout a scenario. */
export interface WriteLoad {
  /** Writes due per second, evenly spaced, to one shard after the other. */
  readonly rate: number;
  /** Size of a value. */
  readonly bytes: number;
  /** How long a client waits for a reply, milliseconds. */
  readonly timeoutMs: number;
  readonly acknowledgement: Acknowledgement;
}

export interface Scenario {
  readonly name: string;
  readonly fault: Fault;
  readonly load: WriteLoad;
  /** Directives set for this scenario, in addition to the deployment's own. */
  readonly settings: ReadonlyMap<string, string>;
  /** Seconds of undisturbed writes before the fault. */
  readonly beforeSeconds: number;
  /** Seconds of writes after recovery. */
  readonly afterSeconds: number;
  /** How long the deployment has to recover, seconds. */
  readonly recoveryTimeoutSeconds: number;
  /** Whether roles are moved when a failover left a replica in its primary's zone. */
  readonly repair: boolean;
}
