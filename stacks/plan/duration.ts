import { compact } from "../../lib/compact";
import { counted } from "../../lib/units";
import type { Fault } from "../../faults/plan/fault";
import type { PlannedScenarioRun } from "./scenario-runs";
import { nodeCount } from "../../valkey/topology/placement";
import { keyFamilies } from "../../benchmarks/workloads/named-tests";
import { KEYS_IN_FLIGHT } from "../../benchmarks/workloads/prefill";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { PlatformConfig } from "../config/schema/platform";
import type { DeploymentPlan, Duration, MeasurementPlan, StudyPlan } from "./stack-plan-types";

/** To create the platform, and to deploy pods, from the published document "Valkey on EKS". */
const EKS_SECONDS = 30 * 60;
const PODS_SECONDS: Readonly<Record<PlatformConfig["type"], number>> = { host: 2, kubernetes: 60, eks: 5 * 60 };
/** Machines and pods start in parallel, but not all at the same time. */
const PER_HUNDRED_NODES_SECONDS: Readonly<Record<PlatformConfig["type"], number>> = {
  host: 10,
  kubernetes: 60,
  eks: 120,
};

/** Seconds that a measurement takes in addition to its load, to start a process, or a Job with its pods. */
const AROUND_SECONDS: Readonly<Record<PlatformConfig["type"], number>> = { host: 1, kubernetes: 8, eks: 12 };
const REFERENCE_LOAD_SECONDS = 1;

/** A write of keys to a server; in pods it includes the port-forward of the API server. */
const TRIP_SECONDS: Readonly<Record<PlatformConfig["type"], number>> = { host: 0.03, kubernetes: 0.1, eks: 0.1 };

/** For a fixed number of requests. Pipelined: the lowest rate in the published document "Valkey on EKS". */
const REQUESTS_PER_SECOND = { pipelined: 400_000, single: 100_000 };

/** Allowance for the recovery from a fault, beside the scenario's own times. docs/faults.md names it. */
export const RECOVERY_SECONDS: Readonly<Record<PlatformConfig["type"], number>> = {
  host: 60,
  kubernetes: 120,
  eks: 120,
};

export function planDuration(
  platform: PlatformConfig["type"],
  deployments: readonly DeploymentPlan[],
  measurement: MeasurementPlan | null,
  study: StudyPlan | null,
  scenarios: readonly PlannedScenarioRun[],
): Duration {
  if (study !== null) return { seconds: study.budget, parts: [{ what: "the study, at most", seconds: study.budget }] };
  const nodes = deployments.reduce((sum, { shape }) => sum + nodeCount(shape), 0);
  const parts = compact([
    platform === "eks" ? { what: "network, cluster and Karpenter", seconds: EKS_SECONDS } : undefined,
    {
      what: "servers, formation and verification",
      seconds: PODS_SECONDS[platform] + (PER_HUNDRED_NODES_SECONDS[platform] * nodes) / 100,
    },
    ...(measurement === null ? breaking(platform, scenarios) : measuring(platform, deployments, measurement)),
  ]).map(({ what, seconds }) => ({ what, seconds: Math.ceil(seconds) }));
  return { seconds: parts.reduce((sum, part) => sum + part.seconds, 0), parts };
}

function breaking(platform: PlatformConfig["type"], scenarios: readonly PlannedScenarioRun[]): Duration["parts"] {
  const possible = scenarios.filter(({ skipReason }) => skipReason === undefined);
  const times = possible.map(({ planned: { scenario, repeats } }) => {
    const { fault, beforeSeconds, afterSeconds, recoveryTimeoutSeconds } = scenario;
    const recovery = Math.min(recoveryTimeoutSeconds, RECOVERY_SECONDS[platform]);
    return { repeats, seconds: repeats * (beforeSeconds + faultSeconds(fault) + recovery + afterSeconds) };
  });
  const count = times.reduce((sum, { repeats }) => sum + repeats, 0);
  const seconds = times.reduce((sum, each) => sum + each.seconds, 0);
  return count === 0 ? [] : [{ what: counted(count, "fault scenario"), seconds }];
}

function faultSeconds(fault: Fault): number {
  if ("seconds" in fault) return fault.seconds;
  return "restart" in fault ? (fault.restart ?? 0) : 0;
}

function measuring(
  platform: PlatformConfig["type"],
  deployments: readonly DeploymentPlan[],
  { workload, workloads, rounds, count, capacity }: MeasurementPlan,
): Duration["parts"] {
  const perRound = count / rounds / deployments.length;
  const measured = deployments.reduce(
    (sum, { shape }) =>
      sum + rounds * perRound * (workload.warmup + AROUND_SECONDS[platform] + lengthOf(workload, shape.primaries)),
    0,
  );
  const referenceLoads = (rounds + 1) * (REFERENCE_LOAD_SECONDS + AROUND_SECONDS[platform]);
  const families = [
    ...keyFamilies(workload.tests).map(() => workload.keySpace),
    ...Object.values(workloads).map(({ keySpace }) => keySpace),
  ];
  return compact([
    {
      what: "prefill",
      seconds: deployments.reduce((sum, { shape }) => sum + prefill(platform, families, shape.primaries), 0),
    },
    { what: `${count} measurements with their reference loads`, seconds: measured + referenceLoads },
    capacity === null
      ? undefined
      : {
          what: "the search for capacities",
          seconds: deployments.length * capacity.probes * (2 * AROUND_SECONDS[platform] + capacity.seconds),
        },
  ]);
}

function lengthOf({ length, pipeline, rate }: Workload, primaries: number): number {
  if ("seconds" in length) return length.seconds;
  const served = primaries * (pipeline > 1 ? REQUESTS_PER_SECOND.pipelined : REQUESTS_PER_SECOND.single);
  return length.requests / Math.min(served, rate ?? Infinity);
}

function prefill(platform: PlatformConfig["type"], families: readonly number[], primaries: number): number {
  // The factor is 2, because keys are written and then counted.
  return families.reduce((sum, keys) => sum + 2 * (keys / primaries / KEYS_IN_FLIGHT) * TRIP_SECONDS[platform], 0);
}
