/** A load to serve, and deployments that do. Plain data. */

/** The load and data that a deployment has to serve. */
export interface Requirements {
  /** Peak requests per second. */
  readonly rate: number;
  /** Part of the requests that read, 0 … 1. */
  readonly reads: number;
  /** Bytes of keys and values, each counted once. */
  readonly workingSet: number;
  /** Bytes of a typical value. */
  readonly valueSize: number;
  /** Requests that a client sends before it waits for replies; 1 if it does not pipeline. */
  readonly pipeline: number;
  /** Objective for the 99th percentile of latency at a primary, milliseconds; undefined for none. */
  readonly p99Ms: number | undefined;
  readonly replicas: number;
}

/** A machine type with its price; each machine runs one server. */
export interface PricedMachine {
  readonly type: string;
  /** `arm64` or `amd64` */
  readonly architecture: string;
  readonly vcpus: number;
  /** Bytes that a pod can request. */
  readonly memoryBytes: number;
  readonly usdPerHour: number;
}

/** A deployment that meets the requirements. */
export interface DeploymentOption {
  readonly mode: "replication" | "cluster";
  readonly primaries: number;
  readonly replicas: number;
  readonly machine: PricedMachine;
  readonly ioThreads: number;
  readonly usdPerMonth: number;
  /** The load as a part of the capacity of all primaries. */
  readonly utilisation: number;
}

/** Options with their reasons, or what is missing. */
export interface Recommendation {
  /** Cheapest first; empty where data are missing or no machine fits. */
  readonly options: readonly DeploymentOption[];
  readonly arithmetic: readonly string[];
  readonly assumptions: readonly string[];
  /** Reasons for an empty list of options. */
  readonly missing: readonly string[];
}
