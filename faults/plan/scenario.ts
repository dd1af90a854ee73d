import type { Fault } from "./fault";

export interface Acknowledgement {
  /** With 0, the reply of the primary is enough. */
  readonly replicas: number;
  readonly timeoutMs: number;
}

export interface WriteLoad {
  /** The writes are evenly spaced, and go to one shard after the other. */
  readonly rate: number;
  readonly bytes: number;
  readonly timeoutMs: number;
  readonly acknowledgement: Acknowledgement;
}

export interface Scenario {
  readonly name: string;
  readonly fault: Fault;
  readonly load: WriteLoad;
  readonly settings: ReadonlyMap<string, string>;
  readonly beforeSeconds: number;
  readonly afterSeconds: number;
  readonly recoveryTimeoutSeconds: number;
  /** Whether roles are moved to different nodes if a failover left a replica in the zone of its primary. */
  readonly repair: boolean;
}
