export interface Requirements {
  readonly rate: number;
  readonly reads: number;
  /** Copies on replicas are not counted. */
  readonly workingSet: number;
  /** Size of a typical value, bytes. */
  readonly valueSize: number;
  readonly pipeline: number;
  /** Highest allowed p99 latency at a primary, milliseconds; undefined for no objective. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** Each machine runs one server. */
export interface PricedMachine {
  readonly type: string;
  readonly architecture: string;
  readonly vcpus: number;
  readonly memoryBytes: number;
  readonly usdPerHour: number;
}

export interface DeploymentOption {
  readonly mode: "replication" | "cluster";
  readonly primaries: number;
  readonly replicas: number;
  readonly machine: PricedMachine;
  readonly ioThreads: number;
  readonly usdPerMonth: number;
  /** The load as a fraction of the capacity of all primaries. */
  readonly utilisation: number;
}

export interface Recommendation {
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Missing data, or other reasons why no deployment is recommended. */
  readonly missing: readonly string[];
}
