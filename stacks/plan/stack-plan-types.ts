/** The shape of a stack's plan. */
import type { Engine } from "../../valkey/settings/engines";
import type { FaultKind } from "../../faults/plan/fault";
import type { ClusterForecast } from "../../valkey/planning/forecast";
import type { MemoryPlan } from "../../valkey/planning/memory-plan";
import type { SentinelSettings } from "../../valkey/sentinel-plan";
import type { Survival } from "../../valkey/planning/survival";
import type { BusTraffic } from "../../valkey/topology/bus-traffic";
import type { ShardPlan } from "../../valkey/topology/cluster-plan";
import type { Shape } from "../../valkey/topology/placement";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { EksPlan } from "../../platforms/eks/plan";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import type { WorkloadConfig } from "../../benchmarks/workloads/mixed-workload-schema";

/** Version of the plan's format. A change that older readers would misread raises it. */
export const PLAN_VERSION = 1;

/** The plan of a stack, as JSON prints it. */
export interface StackPlan {
  readonly version: typeof PLAN_VERSION;
  readonly stack: string;
  readonly platform: PlatformConfig["type"];
  /** Names, in the order in which they are filled. */
  readonly zones: readonly string[];
  readonly deployments: readonly DeploymentPlan[];
  /** Null where nothing is measured. */
  readonly measurement: MeasurementPlan | null;
  /** The study of npm start -- study; null where the stack has no section `study`. */
  readonly study: StudyPlan | null;
  /** The scenarios of npm start -- break, with the reason where one is skipped. */
  readonly failures: readonly FailurePlan[];
  /** Machines, network, quotas and cost; null on other platforms than eks. */
  readonly eks: Omit<EksPlan, "problems"> | null;
  readonly duration: Duration;
  /** Remarks on the plan. */
  readonly notes: readonly string[];
}

/** One deployment: shape, places, settings and pods. */
export interface DeploymentPlan {
  readonly name: string;
  readonly engine: Engine;
  readonly mode: DeploymentConfig["mode"];
  /** Version or directory of the upstream chart that installs the deployment; null where the pods are those of this project. */
  readonly chart: string | null;
  readonly shape: Shape;
  /** Nodes in each zone. */
  readonly zones: Readonly<Record<string, number>>;
  /** Replicas and slots of each primary. On Kubernetes the scheduler may place other names. */
  readonly shards: readonly ShardPlan[];
  readonly settings: Readonly<Record<string, string>>;
  readonly oversubscribed: boolean;
  /** Division of the memory limit of each pod; null on the host and for Dragonfly. */
  readonly memory: MemoryPlan | null;
  /** Consequences of each event, in the order of severity; empty on the host. */
  readonly survives: readonly Survival[];
  /** Null on the host. */
  readonly pods: PodsPlan | null;
  /** Highest traffic of the cluster bus at rest; null outside cluster mode. */
  readonly bus:
    | (BusTraffic & {
        /** Between zones, at AWS's price; null where none is known. */ readonly usdPerHour: number | null;
      })
    | null;
  /** Sentinels of the deployment; null without. */
  readonly sentinel: SentinelSettings | null;
  /** Forecast for a large cluster; null for others. */
  readonly largeCluster: LargeClusterPlan | null;
}

/** Forecast for a large cluster, with the measured clusters that it is extrapolated from. */
export interface LargeClusterPlan {
  /** Extrapolated from measured clusters. */
  readonly forecast: ClusterForecast;
  /** Open files that each server must be allowed. */
  readonly descriptors: number;
  /** Machine, version and sizes of the measured clusters. */
  readonly measured: { readonly cores: number; readonly version: string; readonly sizes: readonly number[] };
}

/** Pods of a deployment, all alike. */
export interface PodsPlan {
  readonly count: number;
  readonly image: string;
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits: { readonly cpu: string; readonly memory: string };
  /** The volume of each pod; null without. */
  readonly volume: { readonly size: string; readonly className: string | null } | null;
  readonly pool: string | null;
  readonly instanceType: string | null;
  readonly oneMachine: boolean;
}

/** Measurements of a stack. */
export interface MeasurementPlan {
  readonly workload: Workload;
  /** Mixed workloads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  readonly rounds: number;
  /** The search that follows the measurements; null without. */
  readonly capacity: CapacityPlan | null;
  /** (Tests + workloads) × deployments × rounds. */
  readonly count: number;
  /** Load generators that run at the same time, each with the workload's clients. */
  readonly runners: number;
  /**
   * Jobs before any search: one per measurement and reference load, and one that detects the load generator's features.
   * Null on the host.
   */
  readonly jobs: number | null;
}

/** Search for the capacity of every deployment. */
export interface CapacityPlan {
  /** A percentile with its highest allowed value: `p99 ≤ 2 ms`. */
  readonly objective: string;
  readonly workload: string;
  readonly initialRate: number;
  readonly maxRate: number;
  readonly precision: number;
  /**
   * Estimated number of offered loads per deployment: doublings up to the highest rate, halvings down to the precision,
   * confirmations, and loads over more connections.
   */
  readonly probes: number;
  readonly seconds: number;
}

/** A scenario on a deployment. */
export interface FailurePlan {
  readonly scenario: string;
  readonly deployment: string;
  readonly fault: FaultKind;
  /** Why the scenario is skipped; null where it is not. */
  readonly skipReason: string | null;
}

/** Study of a stack. */
export interface StudyPlan {
  /** Number of combinations of levels. */
  readonly treatments: number;
  readonly varied: Readonly<Record<string, readonly (string | number)[]>>;
  /** Target relative precision of every comparison. The study ends when it is reached, or after `budget` seconds. */
  readonly precision: number;
  readonly budget: number;
}

/** Estimated duration. */
export interface Duration {
  /** Duration of all parts. */
  readonly seconds: number;
  readonly parts: readonly { readonly what: string; readonly seconds: number }[];
}
