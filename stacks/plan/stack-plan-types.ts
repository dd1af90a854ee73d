/** The shape of a stack's plan. */
import type { Engine } from "../../valkey/engines";
import type { FaultKind } from "../../faults/plan/fault";
import type { ClusterForecast } from "../../valkey/forecast/forecast";
import type { SentinelSettings } from "../../valkey/sentinel/plan";
import type { BusTraffic } from "../../valkey/topology/bus-traffic";
import type { ShardPlan } from "../../valkey/topology/cluster-plan";
import type { Shape } from "../../valkey/topology/placement";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { EksPlan } from "../../platforms/eks/plan";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import type { WorkloadConfig } from "../config/schema/workloads";

/** Raised when a reader of an older plan could misread a newer one. */
export const PLAN_VERSION = 1;

export interface StackPlan {
  readonly version: typeof PLAN_VERSION;
  readonly stack: string;
  readonly platform: PlatformConfig["type"];
  /** Names, in the order in which they are filled. */
  readonly zones: readonly string[];
  readonly deployments: readonly DeploymentPlan[];
  /** Null where nothing is measured. */
  readonly measurement: MeasurementPlan | null;
  /** What npm start -- study would vary; null where the stack has no experiment. */
  readonly study: StudyPlan | null;
  /** What npm start -- break would do, and what cannot be done here. */
  readonly failures: readonly FailurePlan[];
  /** Machines, network, quotas and cost; null where the machines are there already. */
  readonly eks: Omit<EksPlan, "problems"> | null;
  readonly duration: Duration;
  /** What holds and should be known. */
  readonly notes: readonly string[];
}

export interface DeploymentPlan {
  readonly name: string;
  readonly engine: Engine;
  readonly mode: DeploymentConfig["mode"];
  readonly shape: Shape;
  /** Nodes in each zone. */
  readonly zones: Readonly<Record<string, number>>;
  /** Who is whose replica, and of which slots; a scheduler may name its nodes otherwise. */
  readonly shards: readonly ShardPlan[];
  readonly settings: Readonly<Record<string, string>>;
  readonly oversubscribed: boolean;
  /** Null on the host. */
  readonly pods: PodsPlan | null;
  /** The cluster bus at rest, at most; null without one. */
  readonly bus:
    | (BusTraffic & {
        /** Between zones, at AWS's price; null where none is known. */ readonly usdPerHour: number | null;
      })
    | null;
  /** Who has a replica take over in replication mode; null where nobody does. */
  readonly sentinel: SentinelSettings | null;
  /** Null where it is not large. */
  readonly largeCluster: LargeClusterPlan | null;
}

export interface LargeClusterPlan {
  /** From clusters that were measured. */
  readonly forecast: ClusterForecast;
  /** Open files that each server must be allowed. */
  readonly descriptors: number;
  /** What the measured clusters' nodes shared. */
  readonly measured: { readonly cores: number; readonly version: string; readonly sizes: readonly number[] };
}

export interface PodsPlan {
  readonly count: number;
  readonly image: string;
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits: { readonly cpu: string; readonly memory: string };
  /** Each one's own; null without. */
  readonly volume: { readonly size: string; readonly className: string | null } | null;
  readonly pool: string | null;
  readonly instanceType: string | null;
  readonly oneMachine: boolean;
}

export interface MeasurementPlan {
  readonly workload: Workload;
  /** Mixed workloads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  readonly rounds: number;
  /** Searched for after the measurements; null where it is not. */
  readonly capacity: CapacityPlan | null;
  /** (Tests + workloads) × deployments × rounds. */
  readonly count: number;
  /** Load generators side by side; each has the workload's clients. */
  readonly runners: number;
  /** Jobs that Kubernetes runs before any search, one for each measurement and reference load, and one that asks what the tool can do; null on the host. */
  readonly jobs: number | null;
}

export interface CapacityPlan {
  /** A percentile, and the most it may be: `p99 ≤ 2 ms`. */
  readonly objective: string;
  readonly workload: string;
  readonly initialRate: number;
  readonly maxRate: number;
  readonly precision: number;
  /** Loads offered of each deployment, seconds each: doubled up to the most, halved down to the precision, confirmed, and offered over more connections; answers that are not clear take more. */
  readonly probes: number;
  readonly seconds: number;
}

export interface FailurePlan {
  readonly scenario: string;
  readonly deployment: string;
  readonly fault: FaultKind;
  /** Null where it can be done. */
  readonly skipReason: string | null;
}

export interface StudyPlan {
  /** Combinations of what is varied. */
  readonly treatments: number;
  readonly varied: Readonly<Record<string, readonly (string | number)[]>>;
  /** Part of a figure; it ends when all is as exact, or by the budget, seconds. */
  readonly precision: number;
  readonly budget: number;
}

export interface Duration {
  /** Of all parts. */
  readonly seconds: number;
  readonly parts: readonly { readonly what: string; readonly seconds: number }[];
}
