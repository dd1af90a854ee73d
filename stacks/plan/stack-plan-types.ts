import type { Engine } from "../../valkey/settings/engines";
import type { FaultKind } from "../../faults/plan/fault";
import type { ClusterForecast } from "../../valkey/planning/forecast";
import type { MemoryPlan } from "../../valkey/planning/memory-plan";
import type { SentinelSettings } from "../../valkey/sentinel-config";
import type { Survival } from "../../valkey/planning/survival";
import type { BusTraffic } from "../../valkey/topology/bus-traffic";
import type { ShardPlan } from "../../valkey/topology/cluster-plan";
import type { Shape } from "../../valkey/topology/placement";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { EksPlan } from "../../platforms/eks/plan";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import type { WorkloadConfig } from "../../benchmarks/workloads/mixed-workload-schema";

/** Version of the plan's format. The version increases with every change that older programs would misread. */
export const PLAN_VERSION = 1;

/** The plan of a stack, which `plan --json` prints. */
export interface StackPlan {
  readonly version: typeof PLAN_VERSION;
  readonly stack: string;
  readonly platform: PlatformConfig["type"];
  /** Names of the zones, in the order in which nodes are placed. */
  readonly zones: readonly string[];
  readonly deployments: readonly DeploymentPlan[];
  /** Measurements; null if nothing is measured. */
  readonly measurement: MeasurementPlan | null;
  /** Study that `npm start -- study` runs; null if the stack has no section `study`. */
  readonly study: StudyPlan | null;
  /** Scenarios that `npm start -- break` runs. A skipped scenario has the reason why it is skipped. */
  readonly failures: readonly FailurePlan[];
  /** Machines, network, quotas and cost; null on platforms other than eks. */
  readonly eks: Omit<EksPlan, "problems"> | null;
  readonly duration: Duration;
  /** Notes for the user about the plan, one sentence each. */
  readonly notes: readonly string[];
}

/** Plan of one deployment: shape, zones, settings and pods. */
export interface DeploymentPlan {
  readonly name: string;
  readonly engine: Engine;
  readonly mode: DeploymentConfig["mode"];
  /**
   * Version or directory of the upstream chart that installs the deployment; null if this project deploys the pods
   * itself.
   */
  readonly chart: string | null;
  readonly shape: Shape;
  /** Number of nodes in each zone. */
  readonly zones: Readonly<Record<string, number>>;
  /**
   * Replicas and slots of each primary. On Kubernetes the scheduler may place the pods in other zones than this plan.
   */
  readonly shards: readonly ShardPlan[];
  readonly settings: Readonly<Record<string, string>>;
  readonly oversubscribed: boolean;
  /** Division of the memory limit of each pod; null on the platform `host` and for Dragonfly. */
  readonly memory: MemoryPlan | null;
  /** Consequences of each kind of failure, in the order of severity; empty on the platform `host`. */
  readonly survives: readonly Survival[];
  /** Pods of the deployment; null on the platform `host`. */
  readonly pods: PodsPlan | null;
  /** Highest traffic of the cluster bus while clients send no load; null in replication mode. */
  readonly bus:
    | (BusTraffic & {
        /** Cost of the traffic between zones; null if no price is known. */ readonly usdPerHour: number | null;
      })
    | null;
  /** Sentinels of the deployment; null without Sentinels. */
  readonly sentinel: SentinelSettings | null;
  /** Archive and time from which a new deployment is filled; null for a deployment that begins empty. */
  readonly restoredFrom: string | null;
  /** Forecast for a large cluster; null for other deployments. */
  readonly largeCluster: LargeClusterPlan | null;
}

/** Forecast for a large cluster, and the measured clusters from which it is extrapolated. */
export interface LargeClusterPlan {
  /** Forecast, extrapolated from the measured clusters. */
  readonly forecast: ClusterForecast;
  /** Number of open files that each server needs. */
  readonly descriptors: number;
  /** Machine, version and sizes of the measured clusters. */
  readonly measured: { readonly cores: number; readonly version: string; readonly sizes: readonly number[] };
}

/** Pods of a deployment. All pods have the same settings. */
export interface PodsPlan {
  readonly count: number;
  readonly image: string;
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits: { readonly cpu: string; readonly memory: string };
  /** Volume of each pod; null without volumes. */
  readonly volume: { readonly size: string; readonly className: string | null } | null;
  readonly pool: string | null;
  readonly instanceType: string | null;
  readonly oneMachine: boolean;
}

/** Measurements that a stack runs on its deployments. */
export interface MeasurementPlan {
  readonly workload: Workload;
  /** Mixed workloads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  readonly rounds: number;
  /** Search for the capacity, which runs after the measurements; null without a search. */
  readonly capacity: CapacityPlan | null;
  /** Number of measurements: (tests + workloads) × deployments × rounds. */
  readonly count: number;
  /** Number of load generators that run at the same time. Each load generator has the workload's number of clients. */
  readonly runners: number;
  /**
   * Number of Jobs, without the Jobs of a search; null on the platform `host`. There is one Job for each measurement,
   * one for each reference load, and one that detects the load generator's features.
   */
  readonly jobs: number | null;
}

/** Search for the highest rate that each deployment can serve. */
export interface CapacityPlan {
  /** A latency percentile with its highest allowed value, such as `p99 ≤ 2 ms`. */
  readonly objective: string;
  readonly workload: string;
  readonly initialRate: number;
  readonly maxRate: number;
  readonly precision: number;
  /**
   * Estimated number of loads that the search tries on each deployment. The search doubles the rate up to the highest
   * rate, and halves the interval down to the precision. It also confirms the result, and repeats some loads over more
   * connections.
   */
  readonly probes: number;
  readonly seconds: number;
}

/** Plan of a scenario on a deployment. */
export interface FailurePlan {
  readonly scenario: string;
  readonly deployment: string;
  readonly fault: FaultKind;
  /** Reason why the scenario is skipped; null if it is not skipped. */
  readonly skipReason: string | null;
}

/** Plan of a stack's study. */
export interface StudyPlan {
  /** Number of treatments: combinations of the varied values, on every deployment. */
  readonly treatments: number;
  readonly varied: Readonly<Record<string, readonly (string | number)[]>>;
  /**
   * Target relative precision of every comparison. The study ends when every comparison reaches this precision, or
   * after `budget` seconds.
   */
  readonly precision: number;
  readonly budget: number;
}

/** Estimated time from an empty stack to its results, in total and by part. */
export interface Duration {
  /** Total duration of all parts. */
  readonly seconds: number;
  readonly parts: readonly { readonly what: string; readonly seconds: number }[];
}
