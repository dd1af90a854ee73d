export interface Requirements {
  readonly rate: number;
  /** Fraction of the requests that read, 0 to 1. */
  readonly reads: number;
  /** Copies on replicas are not counted. */
  readonly workingSet: number;
  /** Size of a typical value, bytes. */
  readonly valueSize: number;
  /** Number of requests that a client sends before it waits for replies; 1 without pipelining. */
  readonly pipeline: number;
  /** Highest allowed p99 latency at a primary, milliseconds; undefined for no objective. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** Each machine runs one server. */
export interface PricedMachine {
  readonly type: string;
  /** CPU architecture: `arm64` or `amd64`. */
  readonly architecture: string;
  readonly vcpus: number;
  /** Memory that a pod on the machine can request, bytes. */
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
  /** The list is empty if data are missing or no machine fits. */
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Missing data, or other reasons why no deployment is recommended. */
  readonly missing: readonly string[];
}
