/** A load, and the deployments that can serve this load. Plain data. */

/** The load and data that a deployment has to serve. */
export interface Requirements {
  /** Peak requests per second. */
  readonly rate: number;
  /** Fraction of the requests that read, 0 to 1. */
  readonly reads: number;
  /** Size of all keys and values, bytes. Copies on replicas are not counted. */
  readonly workingSet: number;
  /** Size of a typical value, bytes. */
  readonly valueSize: number;
  /** Number of requests that a client sends before it waits for replies; 1 without pipelining. */
  readonly pipeline: number;
  /** Highest allowed p99 latency at a primary, milliseconds; undefined for no objective. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** A machine type with its price. Each machine runs one server. */
export interface PricedMachine {
  readonly type: string;
  /** CPU architecture: `arm64` or `amd64`. */
  readonly architecture: string;
  readonly vcpus: number;
  /** Memory that a pod on the machine can request, bytes. */
  readonly memoryBytes: number;
  readonly usdPerHour: number;
}

/** A recommended deployment. */
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

/**
 * Recommended deployments with the arithmetic that leads to them, or the missing data if no deployment is recommended.
 */
export interface Recommendation {
  /** Recommended deployments, cheapest first. The list is empty if data are missing or no machine fits. */
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Missing data, or other reasons why no deployment is recommended. */
  readonly missing: readonly string[];
}
