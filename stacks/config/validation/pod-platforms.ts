import { type Problem, problem, within } from "../../../lib/errors";
import { chartValueProblems } from "../../../components/kubernetes/deployment/chart-values";
import { zoneSpreadProblem } from "../../../components/kubernetes/pods/zone-plan";
import { compact } from "../../../lib/compact";
import { STORAGE_CLASS_NAMES } from "../../../platforms/eks/offers/storage-classes";
import { VALKEY_FIELDS } from "../../../model/deployment";
import { changedFields } from "../../../model/fields";
import { settingsSchema } from "../../../valkey/settings/settings-schema";
import { SETTINGS_SYNTAX } from "../../../valkey/settings/engines";
import { nodeCount } from "../../../valkey/topology/placement";
import { configuredSentinels, configuredShape } from "../../plan/benchmark-plans";
import { eksPlan } from "../../plan/eks";
import { type PodPlatform, deploymentZones, isPodPlatform } from "../../plan/pod-settings";
import type { Label } from "../../../lib/schema/problems";
import type { BenchmarkConfig } from "../schema/benchmark";
import type { DeploymentConfig } from "../schema/deployments";
import type { EksPlatformConfig } from "../schema/eks";
import type { PlatformConfig } from "../schema/platform";
import type { WorkloadConfig } from "../../../benchmarks/workloads/mixed-workload-schema";
import type { Named } from "../sections/section-parser";

interface PlannedLoad {
  readonly benchmark: BenchmarkConfig | undefined;
  readonly workloads: readonly Named<WorkloadConfig>[];
}

/** Dragonfly has no flag for them, or they are about data on disk. */
const NOT_IN_DRAGONFLY: readonly string[] = Object.keys(settingsSchema.shape).filter((name) => name !== "maxmemory");

export function podPlatformProblems(
  platform: PlatformConfig,
  deployments: readonly Named<DeploymentConfig>[],
  load: PlannedLoad,
  label: Label,
): Problem[] {
  return [
    ...deployments.flatMap(([name, deployment]) => [
      ...engineProblems(name, deployment, platform, label),
      ...chartProblems(name, deployment, platform, label),
      ...podProblems(name, deployment, platform, label),
      ...spreadProblems(name, deployment, platform, label),
    ]),
    ...(platform.type === "eks" ? planProblems(platform, deployments, load, label) : []),
  ];
}

/** The chart lacks this project's additions to servers. */
function chartProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): Problem[] {
  if (deployment.mode !== "replication" || deployment.chart === undefined) return [];
  const { chart } = deployment;
  const own = (...keys: readonly string[]): string => label(["deployments", name, ...keys]);
  const path = own("chart");
  if (!isPodPlatform(platform))
    return [problem("no-charts", path, `the platform ${platform.type} cannot install charts`)];
  const { engine, users, passwordSecret, passwordVersion, pods } = deployment;
  const excluded = compact([
    engine === "valkey" ? undefined : own("engine"),
    configuredSentinels(deployment) && own("sentinel"),
    users && own("users"),
    ...changedFields(VALKEY_FIELDS, deployment).map((key) => own(key)),
    passwordSecret && own("passwordSecret"),
    passwordVersion === 0 ? undefined : own("passwordVersion"),
    pods?.storage?.ephemeral === true ? own("pods", "storage", "ephemeral") : undefined,
    platform.tls && label(["platform", "tls"]),
    platform.metrics && label(["platform", "metrics"]),
  ]);
  return compact([
    deployment.replicas > 0
      ? undefined
      : problem(
          "chart-without-replicas",
          own("replicas"),
          "it is 0; expected at least 1, because without replicas the chart creates a Deployment, which is not verified",
        ),
    ...excluded.map((key) =>
      problem("excluded-by-chart", path, `the chart does not support ${key}; remove ${key} or the chart`),
    ),
    ...within(`${path}.values`, chartValueProblems(chart.values)),
  ]);
}

function engineProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): Problem[] {
  const { engine, mode, settings } = deployment;
  if (engine === "valkey") return [];
  const path = (...rest: readonly string[]): string => label(["deployments", name, ...rest]);
  const problems: Problem[] = [];
  if (platform.type === "host") {
    problems.push(
      problem("engine-needs-pods", path("engine"), `${engine} runs on the platforms kubernetes and eks only`),
    );
  } else if (platform.tls !== undefined) {
    const message = `${name} runs ${engine}, but this project deploys ${engine} only without TLS`;
    problems.push(problem("engine-without-tls", label(["platform", "tls"]), message));
  }
  if (SETTINGS_SYNTAX[engine] !== "flags") return problems;
  if (mode === "cluster") {
    const message = `this project runs ${engine} without cluster mode; expected mode: replication`;
    problems.push(problem("engine-without-cluster", path("engine"), message));
  }
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined || !NOT_IN_DRAGONFLY.includes(key)) continue;
    const message = `${engine} does not have this setting; expected maxmemory, or a flag by its name`;
    problems.push(problem("setting-of-valkey", path("settings", key), message));
  }
  return problems;
}

function podProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): Problem[] {
  const { pods } = deployment;
  if (pods === undefined) return [];
  const path = (...rest: readonly string[]): string => label(["deployments", name, "pods", ...rest]);
  if (platform.type === "host")
    return [problem("no-pods", path(), "the platform host has no pods; only kubernetes and eks have pods")];
  const problems: Problem[] = [];
  const zones = pods.zones ?? platform.zones;
  if (pods.oneMachine && configuredShape(deployment).replicasPerPrimary > 0) {
    const message = `one machine cannot keep the replicas of ${name} apart from their primaries`;
    problems.push(problem("replicas-on-one-machine", path("oneMachine"), message));
  }
  if (pods.oneMachine && zones.length > 1) {
    const remedy = `expected one zone in ${path("zones")}`;
    const message = `one machine is in one zone, but ${zones.length} zones are named; ${remedy}`;
    problems.push(problem("one-machine-in-zones", path("oneMachine"), message));
  }
  return [...problems, ...machineProblems(pods, platform, path, label)];
}

function machineProblems(
  pods: NonNullable<DeploymentConfig["pods"]>,
  platform: PodPlatform,
  path: (...rest: readonly string[]) => string,
  label: Label,
): Problem[] {
  if (platform.type === "kubernetes") {
    const keys = (["pool", "instanceType"] as const).filter((key) => pods[key] !== undefined);
    const message = `only the platform eks has pools; use ${label(["platform", "nodeSelector"])}`;
    return keys.map((key) => problem("no-pools", path(key), message));
  }
  const problems: Problem[] = [];
  const className = pods.storage?.className;
  if (className !== undefined && !(STORAGE_CLASS_NAMES as readonly string[]).includes(className)) {
    const message = ` is ${className}: expected one of ${STORAGE_CLASS_NAMES.join(", ")}`;
    problems.push(problem("wrong-value", path("storage", "className"), message));
  }
  const { pool = "servers", instanceType } = pods;
  const types = platform.pools[pool]?.instanceTypes;
  if (instanceType !== undefined && types !== undefined && !types.includes(instanceType)) {
    const known = `${types.join(", ")} (${label(["platform", "pools", pool, "instanceTypes"])})`;
    const message = `the pool ${pool} has no ${instanceType}; it has ${known}`;
    problems.push(problem("type-not-in-pool", path("instanceType"), message));
  }
  return problems;
}

function spreadProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): Problem[] {
  if (platform.type === "host" || deployment.mode !== "cluster") return [];
  const zones = deploymentZones(platform, deployment);
  const shape = configuredShape(deployment);
  if (zones.length < 2 || zones.length > nodeCount(shape) || new Set(zones).size < zones.length) return [];
  const why = zoneSpreadProblem(shape, zones);
  if (why === undefined) return [];
  const isOwn = deployment.pods?.zones !== undefined;
  return [problem("uneven-zones", label(isOwn ? ["deployments", name, "pods", "zones"] : ["platform", "zones"]), why)];
}

function planProblems(
  platform: EksPlatformConfig,
  deployments: readonly Named<DeploymentConfig>[],
  { benchmark, workloads }: PlannedLoad,
  label: Label,
): Problem[] {
  const { problems } = eksPlan(platform, {
    deployments: Object.fromEntries(deployments),
    benchmark,
    workloads: Object.fromEntries(workloads),
  });
  return within(label(["platform"]), problems);
}
