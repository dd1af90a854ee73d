/** Cross-field validation of deployments: zones, Sentinels, settings and memory. Pure. */
import type { ControlledKind } from "../../../components/kubernetes/controller/controller-problems";
import { controllerProblems } from "../../../components/kubernetes/controller/controller-problems";
import { externalProblems } from "../../../components/kubernetes/external-problems";
import { compact } from "../../../lib/compact";
import { formatBytes } from "../../../lib/units";
import { writesToDisk } from "../../../valkey/settings/settings";
import { settingProblems } from "../../../valkey/settings/settings-problems";
import { restoreFromProblems } from "./restores";
import { memoryProblem } from "../../../valkey/planning/memory-plan";
import { sentinelProblems } from "../../../valkey/sentinel/sentinel-settings";
import { nodeCount } from "../../../valkey/topology/placement";
import { tagOf } from "../../../valkey/settings/version";
import { configuredChart, configuredShape, sentinelRequest } from "../../plan/benchmark-plans";
import { memoryDemand } from "../../plan/memory";
import type { PodPlatform } from "../../plan/pod-settings";
import { deploymentZones, isPodPlatform, platformZones, podSettings } from "../../plan/pod-settings";
import type { Label } from "../../../lib/schema/problems";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";
import { podBackupProblems, sharedPrefixProblems } from "./backups";
import { MEMORY_SHARE, serverResources } from "./server-resources";
import type { ServerResources } from "./server-resources";
import type { ValidationContext } from "./types";

/** Sentences about problems that a deployment has on its platform, for every deployment. */
export function deploymentProblems({ sections, machine, label }: ValidationContext): string[] {
  const { platform, deployments } = sections;
  return [
    ...(platform === undefined ? [] : sharedPrefixProblems(deployments, platform, label)),
    ...deployments.flatMap(([name, deployment]) => [
      ...(platform === undefined ? [] : zoneProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : sentinelConflicts(name, deployment, platform, label)),
      ...(platform === undefined ? [] : userProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : passwordProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : reachProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : podControllerProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : podBackupProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : restoreFromProblems(name, deployment, platform, label)),
      ...directiveProblems(name, deployment, platform, label),
      ...valueProblems(name, deployment, serverResources(platform, deployment, machine), label),
    ]),
  ];
}

/** Problems with servers whose `maxmemory` does not fit into their pods or into this machine. */
export function memoryProblems({ sections, machine, label }: ValidationContext): string[] {
  const { platform, deployments } = sections;
  const path = (name: string): string => label(["deployments", name, "settings", "maxmemory"]);
  if (platform !== undefined && isPodPlatform(platform)) {
    return deployments.flatMap(([name, deployment]) => {
      const problem = podMemoryProblem(platform, deployment);
      if (problem === undefined) return [];
      const memory = ["resources", "limits", "memory"];
      const isOwn = deployment.pods?.resources !== undefined;
      const raise = label(isOwn ? ["deployments", name, "pods", ...memory] : ["platform", ...memory]);
      return [`${path(name)}: ${problem}. Lower maxmemory, raise ${raise}, or set oversubscribed: true to allow this`];
    });
  }
  const limited = deployments.filter(([, { settings }]) => (settings.maxmemory ?? 0) > 0);
  const totals = limited.map(([name, deployment]) => ({
    name,
    total: (deployment.settings.maxmemory ?? 0) * nodeCount(configuredShape(deployment)),
  }));
  const most = machine.memoryBytes * MEMORY_SHARE;
  const sum = totals.reduce((bytes, { total }) => bytes + total, 0);
  if (sum <= most) return [];
  const paths = totals.map(({ name }) => path(name)).join(", ");
  const parts = totals.map(({ name, total }) => `${name} ${formatBytes(total)}`).join(" and ");
  const room = `a machine of ${formatBytes(machine.memoryBytes)}`;
  return [`${paths}: together ${formatBytes(sum)} (${parts}) on ${room}; expected at most ${formatBytes(most)}`];
}

function podMemoryProblem(platform: PodPlatform, deployment: DeploymentConfig): string | undefined {
  const demand = memoryDemand(platform, deployment);
  return demand === undefined || deployment.oversubscribed ? undefined : memoryProblem(demand);
}

function zoneProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): string[] {
  const isOwn = deployment.pods?.zones !== undefined;
  const ownPath = ["deployments", name, "pods", "zones"];
  const path = label(isOwn ? ownPath : ["platform", "zones"]);
  const zones = deploymentZones(platform, deployment);
  const distinct = new Set(zones).size;
  const shape = configuredShape(deployment);
  const nodes = nodeCount(shape);
  const problems: string[] = [];
  const known = platformZones(platform);
  const unknown = zones.filter((zone) => !known.includes(zone));
  if (unknown.length > 0) {
    problems.push(
      `${path}: the platform has no zone ${unknown.join(", ")}; zones of the platform: ${known.join(", ")}`,
    );
  }
  // On eks, the platform's schema already reports a platform zone that is named twice.
  if (distinct < zones.length && (isOwn || platform.type !== "eks")) problems.push(`${path}: a zone is named twice`);
  if (distinct > nodes) {
    // On eks, machines are planned for all zones of the platform, so a smaller deployment must name some of these
    // zones.
    const remedy =
      platform.type === "eks" && !isOwn ? `name fewer zones in ${label(ownPath)}` : `expected at most ${nodes}`;
    problems.push(`${path}: ${distinct} zones are more than the ${nodes} nodes of ${name}; ${remedy}`);
  }
  if (distinct < 2 && shape.replicasPerPrimary > 0) {
    problems.push(
      `${path}: one zone cannot keep the replicas of ${name} apart from their primaries; expected at least 2`,
    );
  }
  return problems;
}

function sentinelConflicts(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  if (deployment.mode !== "replication") return [];
  const { sentinel, replicas, engine } = deployment;
  if (typeof sentinel !== "object") return [];
  const path = label(["deployments", name, "sentinel"]);
  const zones = new Set(deploymentZones(platform, deployment)).size;
  return compact([
    engine === "valkey" ? undefined : `${path}: Sentinels need Valkey, but ${name} runs ${engine}`,
    ...sentinelProblems(sentinelRequest(sentinel), { name, replicas, zones }).map(
      ({ field, reason }) => `${[path, ...compact([field])].join(".")}: ${reason}`,
    ),
  ]);
}

function userProblems(
  name: string,
  { users, engine }: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  if (users === undefined) return [];
  const path = label(["deployments", name, "users"]);
  return compact([
    isPodPlatform(platform) ? undefined : `${path}: the platform ${platform.type} has only the user default`,
    engine === "valkey" ? undefined : `${path}: users need Valkey, but ${name} runs ${engine}`,
  ]);
}

function passwordProblems(
  name: string,
  { passwordSecret, passwordVersion }: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  if (passwordSecret === undefined) return [];
  const path = label(["deployments", name, "passwordSecret"]);
  return compact([
    isPodPlatform(platform) ? undefined : `${path}: the platform ${platform.type} has no Secrets`,
    passwordVersion === 0
      ? undefined
      : `${path}: cannot be set together with passwordVersion, which generates passwords`,
  ]);
}

function reachProblems(
  name: string,
  { external, engine }: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  if (external === undefined) return [];
  const path = (...keys: readonly string[]): string => label(["deployments", name, "external", ...keys]);
  return compact([
    isPodPlatform(platform)
      ? undefined
      : `${path()}: the platform ${platform.type} has no Services; its servers are reached only on this machine`,
    engine === "valkey" ? undefined : `${path()}: needs Valkey, but ${name} runs ${engine}`,
    ...externalProblems(external).map(({ key, reason }) => `${path(key)}: ${reason}`),
  ]);
}

function podControllerProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): string[] {
  const { controller, engine } = deployment;
  if (controller === undefined) return [];
  const path = label(["deployments", name, "controller"]);
  return compact([
    isPodPlatform(platform)
      ? undefined
      : `${path}: the platform ${platform.type} has no pods; npm start -- watch verifies its deployments again and again`,
    engine === "valkey" ? undefined : `${path}: needs Valkey, but ${name} runs ${engine}`,
    configuredChart(deployment) === undefined ? undefined : `${path}: cannot be set together with chart`,
    ...(isPodPlatform(platform) ? controllerProblems(controller, controlledKind(deployment, platform)) : []).map(
      ({ field, reason }) => `${label(["deployments", name, "controller", field])}: ${reason}`,
    ),
  ]);
}

function controlledKind(deployment: DeploymentConfig, platform: PodPlatform): ControlledKind {
  const { storage } = podSettings(platform, deployment);
  const { replicasPerPrimary } = configuredShape(deployment);
  return {
    mode: deployment.mode,
    replicasPerPrimary,
    keepsData: !storage.ephemeral && writesToDisk(deployment.settings),
  };
}

function directiveProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig | undefined,
  label: Label,
): string[] {
  const { engine, settings, newerDirectives } = deployment;
  const version =
    platform === undefined || !isPodPlatform(platform) ? undefined : tagOf(podSettings(platform, deployment).image);
  const replicas = configuredShape(deployment).replicasPerPrimary;
  return settingProblems(settings, { engine, version, newerDirectives, replicas }).map(
    (problem) => `${label(["deployments", name, "settings", problem.name])}: ${problem.reason}`,
  );
}

function valueProblems(
  name: string,
  deployment: DeploymentConfig,
  { cores, pinned }: ServerResources,
  label: Label,
): string[] {
  const { settings } = deployment;
  const path = (...keys: readonly string[]): string => label(["deployments", name, "settings", ...keys]);
  const problems: string[] = [];
  const ioThreads = settings["io-threads"];
  // One core is left for the rest of the machine, unless the server has exclusive CPUs.
  const most = Math.max(1, pinned ? cores : Math.ceil(cores) - 1);
  if (ioThreads !== undefined && ioThreads > most && !deployment.oversubscribed) {
    const remedy = `expected at most ${most}, or oversubscribed: true to measure what more threads cost`;
    problems.push(`${path("io-threads")}: ${ioThreads} threads on ${cores} cores, but idle threads spin; ${remedy}`);
  }
  return problems;
}
