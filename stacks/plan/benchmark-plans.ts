import { searchOf } from "../../benchmarks/capacity/capacity-schema";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { type Treatment, treatmentsOf } from "../../benchmarks/studies/factors";
import { benchmarkWorkload, mixedWorkloads } from "../../benchmarks/workloads/configured-workloads";
import type { MixedWorkload, OpenLoopWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { LoadedDeployment } from "../../benchmarks/workloads/suitability";
import { type Workload, adjustKeySpace, adjustedLoad } from "../../benchmarks/workloads/workload";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import type { SentinelSettings } from "../../valkey/sentinel-config";
import { sentinelSettings } from "../../valkey/sentinel/sentinel-settings";
import type { Shape } from "../../valkey/topology/placement";
import type { ChartConfig, DeploymentConfig } from "../config/schema/deployments";
import type { HostConfig } from "../config/schema/platform";
import type { StackConfig } from "../config/schema/stack";
import type { StudySectionConfig } from "../config/schema/study";

export function configuredShape(deployment: DeploymentConfig): Shape {
  return deployment.mode === "cluster"
    ? { primaries: deployment.primaries, replicasPerPrimary: deployment.replicasPerPrimary }
    : { primaries: 1, replicasPerPrimary: deployment.replicas };
}

export function configuredChart(deployment: DeploymentConfig): ChartConfig | undefined {
  return deployment.mode === "replication" ? deployment.chart : undefined;
}

export function configuredSentinels(deployment: DeploymentConfig): SentinelSettings | undefined {
  if (deployment.mode !== "replication" || typeof deployment.sentinel !== "object") return undefined;
  return sentinelSettings(deployment.sentinel);
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

export function loadedDeployment([name, deployment]: readonly [string, DeploymentConfig]): LoadedDeployment {
  const { mode, settings } = deployment;
  return { name, mode, shape: configuredShape(deployment), maxmemory: settings.maxmemory };
}

export function configuredMixedWorkloads(
  config: Pick<StackConfig, "benchmark" | "workloads" | "deployments">,
): MixedWorkload[] {
  return mixedWorkloads(config.benchmark, config.workloads, hasCluster(config));
}

export function openLoopWorkloads(
  config: Pick<StackConfig, "benchmark" | "workloads" | "deployments">,
): OpenLoopWorkload[] {
  return configuredMixedWorkloads(config).filter(
    (workload): workload is OpenLoopWorkload => workload.loadGenerator === "open-loop",
  );
}

export function configuredCapacitySearch(
  config: Pick<StackConfig, "benchmark" | "workloads" | "deployments" | "capacity">,
): CapacitySearch | undefined {
  const { capacity } = config;
  if (capacity === undefined) return undefined;
  return searchOf(capacity, openLoopWorkloads(config));
}

/** Then the numbers of keys must suit a cluster. */
export function hasCluster({ deployments }: Pick<StackConfig, "deployments">): boolean {
  return Object.values(deployments).some(({ mode }) => mode === "cluster");
}

/** If `adjustLoad` is true, the primaries of every cluster also share the load evenly. */
export function fittedWorkload({ benchmark, deployments }: Pick<StackConfig, "benchmark" | "deployments">): Workload {
  const clusters = Object.values(deployments).flatMap((deployment) =>
    deployment.mode === "cluster" ? [deployment.primaries] : [],
  );
  const { clients, threads, adjustLoad } = benchmark;
  const keySpace = adjustKeySpace(benchmark.keySpace, clusters.length > 0);
  return {
    ...benchmarkWorkload(benchmark),
    keySpace,
    ...(adjustLoad ? adjustedLoad(clients, threads, clusters) : {}),
  };
}

export function studyTreatments({
  deployments,
  benchmark,
  study,
}: Pick<StackConfig, "deployments" | "benchmark"> & { readonly study: StudySectionConfig }): Treatment[] {
  const bases = Object.entries(deployments).map(([name, deployment]) => ({
    name,
    mode: deployment.mode,
    shape: configuredShape(deployment),
    settings: deployment.settings,
  }));
  const treatments = treatmentsOf(bases, study.vary, benchmarkWorkload(benchmark), study.runners);
  const anyCluster = treatments.some(({ mode }) => mode === "cluster");
  const keySpace = adjustKeySpace(benchmark.keySpace, anyCluster);
  return treatments.map((treatment) => ({ ...treatment, workload: { ...treatment.workload, keySpace } }));
}
