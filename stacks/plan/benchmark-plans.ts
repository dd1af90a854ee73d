/** From a stack's configuration to what is carried out: deployments to start, a workload to measure. Pure. */
import * as experiments from "../../benchmarks/studies/factors";
import type { Treatment } from "../../benchmarks/studies/factors";
import type { HostDeploymentPlan } from "../../platforms/host/host";
import type { SentinelSettings } from "../../valkey/sentinel/plan";
import { majority } from "../../valkey/sentinel/plan";
import type { CapacitySearch } from "../../benchmarks/measuring/measure-all";
import type { MixedWorkload, OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { Workload } from "../../benchmarks/workloads/workload";
import { fitKeySpace, fitLoad } from "../../benchmarks/workloads/workload";
import type { Shape } from "../../valkey/topology/placement";
import type {
  BenchmarkConfig,
  DeploymentConfig,
  HostConfig,
  SentinelConfig,
  StackConfig,
} from "../config/schema/stack";
import { DEFAULT_DURATION_SECONDS } from "../config/schema/stack";
import { searchPlan } from "../config/schema/capacity";
import type { ExperimentConfig } from "../config/schema/study";

export function configuredShape(deployment: DeploymentConfig): Shape {
  return deployment.mode === "cluster"
    ? { primaries: deployment.primaries, replicasPerPrimary: deployment.replicasPerPrimary }
    : { primaries: 1, replicasPerPrimary: deployment.replicas };
}

/** Of those that have a replica take over; undefined where nobody does. */
export function configuredSentinels(deployment: DeploymentConfig): SentinelSettings | undefined {
  return deployment.mode === "replication" && deployment.sentinel !== undefined
    ? sentinelSettings(deployment.sentinel)
    : undefined;
}

function sentinelSettings({
  count,
  quorum,
  "down-after-milliseconds": downAfterMs,
  "failover-timeout": failoverTimeoutMs,
}: SentinelConfig): SentinelSettings {
  return { count, quorum: quorum ?? majority(count), downAfterMs, failoverTimeoutMs };
}

export function hostPlans(
  platform: HostConfig,
  { deployments }: Pick<StackConfig, "deployments">,
): HostDeploymentPlan[] {
  return Object.entries(deployments).map(([name, deployment]) => ({
    name,
    mode: deployment.mode,
    shape: configuredShape(deployment),
    settings: deployment.settings,
    zones: platform.zones,
    sentinel: configuredSentinels(deployment),
  }));
}

/** The workload as configured; it is not yet fitted to the deployments. */
export function benchmarkWorkload(benchmark: BenchmarkConfig): Workload {
  const { workloadName, tests, clients, pipeline, dataSize, threads, keySpace, duration, requests, warmup, rate } =
    benchmark;
  return {
    name: workloadName,
    tests,
    clients,
    pipeline,
    dataSize,
    threads,
    keySpace,
    length: requests === undefined ? { seconds: duration ?? DEFAULT_DURATION_SECONDS } : { requests },
    warmup,
    rate,
  };
}

/** The mixed workloads, each as long as the benchmark's measurements; key spaces are fitted to what every deployment can have. */
export function mixedWorkloads({
  benchmark,
  workloads,
  anyCluster,
}: Pick<StackConfig, "benchmark" | "workloads"> & { readonly anyCluster: boolean }): MixedWorkload[] {
  return Object.entries(workloads).map(([name, workload]): MixedWorkload => {
    const { duration = DEFAULT_DURATION_SECONDS, requests } = benchmark;
    const seconds = requests !== undefined && workload.rate !== undefined ? requests / workload.rate : duration;
    const common = {
      name,
      length: { seconds },
      warmup: benchmark.warmup,
      keySpace: fitKeySpace(workload.keySpace, anyCluster),
    };
    if (workload.loadGenerator !== "open-loop") return { ...workload, ...common, rate: workload.rate };
    const { timeout, ...rest } = workload;
    return { ...rest, ...common, timeoutMs: timeout };
  });
}

/** What a stack with a section `capacity` offers, up to where, and what must hold; undefined without, or where the command line has it offer nothing by the open loop. */
export function configuredCapacitySearch(
  config: Pick<StackConfig, "benchmark" | "workloads" | "deployments" | "capacity">,
): CapacitySearch | undefined {
  const { capacity } = config;
  if (capacity === undefined) return undefined;
  const mix = openLoopWorkloads(config).find(({ name }) => name === (capacity.workload ?? name));
  return mix === undefined ? undefined : { workload: mix, objective: capacity.objective, search: searchPlan(capacity) };
}

export function openLoopWorkloads(
  config: Pick<StackConfig, "benchmark" | "workloads" | "deployments">,
): OpenLoopWorkload[] {
  return mixedWorkloads({ ...config, anyCluster: hasCluster(config) }).filter(
    (mix): mix is OpenLoopWorkload => mix.loadGenerator === "open-loop",
  );
}

/** Whether key spaces must be those of a cluster. */
export function hasCluster({ deployments }: Pick<StackConfig, "deployments">): boolean {
  return Object.values(deployments).some(({ mode }) => mode === "cluster");
}

/** The workload with the key space that every deployment of the stack can have exactly, and the load that each can share evenly where that is asked for. */
export function fittedWorkload({ benchmark, deployments }: Pick<StackConfig, "benchmark" | "deployments">): Workload {
  const clusters = Object.values(deployments).flatMap((deployment) =>
    deployment.mode === "cluster" ? [deployment.primaries] : [],
  );
  const { clients, threads, fit, keySpace } = benchmark;
  return {
    ...benchmarkWorkload(benchmark),
    keySpace: fitKeySpace(keySpace, clusters.length > 0),
    ...(fit ? fitLoad(clients, threads, clusters) : {}),
  };
}

/** A study's cells: every combination of what it varies, on each deployment, with a key space that all of them can have exactly. */
export function studyTreatments({
  deployments,
  benchmark,
  experiment,
}: Pick<StackConfig, "deployments" | "benchmark"> & { readonly experiment: ExperimentConfig }): Treatment[] {
  const bases = Object.entries(deployments).map(([name, deployment]) => ({
    name,
    mode: deployment.mode,
    shape: configuredShape(deployment),
    settings: deployment.settings,
  }));
  const cells = experiments.treatmentsOf(bases, experiment.vary, benchmarkWorkload(benchmark), experiment.runners);
  const keySpace = fitKeySpace(
    benchmark.keySpace,
    cells.some(({ mode }) => mode === "cluster"),
  );
  return cells.map((cell) => ({ ...cell, workload: { ...cell.workload, keySpace } }));
}
