import { type Problem, problem, within } from "../../../lib/errors";
import { type ControlledKind, controllerProblems } from "../../../components/kubernetes/controller/controller-problems";
import { externalProblems } from "../../../components/kubernetes/external-problems";
import { compact } from "../../../lib/compact";
import { formatBytes } from "../../../lib/units";
import { VALKEY_FIELDS } from "../../../model/deployment";
import { changedFields } from "../../../model/fields";
import { writesToDisk } from "../../../valkey/settings/settings";
import { settingProblems } from "../../../valkey/settings/settings-problems";
import { memoryProblem } from "../../../valkey/planning/memory-plan";
import { sentinelProblems } from "../../../valkey/sentinel/sentinel-settings";
import { nodeCount } from "../../../valkey/topology/placement";
import { tagOf } from "../../../valkey/settings/version";
import { configuredChart, configuredShape } from "../../plan/benchmark-plans";
import type { PodPlatform } from "../../plan/pod-settings";
import { deploymentZones, isPodPlatform, platformZones, podSettings, memoryDemand } from "../../plan/pod-settings";
import type { Label } from "../../../lib/schema/problems";
import type { DeploymentConfig } from "../schema/deployments";
import type { PlatformConfig } from "../schema/platform";
import { podBackupProblems, sharedPrefixProblems, restoreFromProblems } from "./backups";
import { MEMORY_SHARE, serverResources, type ServerResources } from "./server-resources";
import type { ValidationContext } from "./types";

export function deploymentProblems({ sections, machine, label }: ValidationContext): Problem[] {
  const { platform, deployments } = sections;
  return [
    ...(platform === undefined ? [] : sharedPrefixProblems(deployments, platform, label)),
    ...deployments.flatMap(([name, deployment]) => [
      ...(platform === undefined ? [] : zoneProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : sentinelConflicts(name, deployment, platform, label)),
      ...(platform === undefined ? [] : valkeyPodProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : passwordProblems(name, deployment, platform, label)),
      ...(deployment.external === undefined
        ? []
        : within(label(["deployments", name, "external"]), externalProblems(deployment.external))),
      ...(platform === undefined ? [] : podControllerProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : podBackupProblems(name, deployment, platform, label)),
      ...(platform === undefined ? [] : restoreFromProblems(name, deployment, platform, label)),
      ...directiveProblems(name, deployment, platform, label),
      ...valueProblems(name, deployment, serverResources(platform, deployment, machine), label),
    ]),
  ];
}

export function memoryProblems({ sections, machine, label }: ValidationContext): Problem[] {
  const { platform, deployments } = sections;
  const path = (name: string): string => label(["deployments", name, "settings", "maxmemory"]);
  if (platform !== undefined && isPodPlatform(platform)) {
    return deployments.flatMap(([name, deployment]) => {
      const tooMuch = podMemoryProblem(platform, deployment);
      if (tooMuch === undefined) return [];
      const memory = ["resources", "limits", "memory"];
      const isOwn = deployment.pods?.resources !== undefined;
      const raise = label(isOwn ? ["deployments", name, "pods", ...memory] : ["platform", ...memory]);
      const remedy = `Lower maxmemory, raise ${raise}, or set oversubscribed: true to allow this`;
      return [problem("memory-exceeds-pod", path(name), `${tooMuch}. ${remedy}`)];
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
  const message = `together ${formatBytes(sum)} (${parts}) on ${room}; expected at most ${formatBytes(most)}`;
  return [problem("memory-exceeds-machine", paths, message)];
}

function podMemoryProblem(platform: PodPlatform, deployment: DeploymentConfig): string | undefined {
  const demand = memoryDemand(platform, deployment);
  return demand === undefined || deployment.oversubscribed ? undefined : memoryProblem(demand);
}

function zoneProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig, label: Label): Problem[] {
  const isOwn = deployment.pods?.zones !== undefined;
  const ownPath = ["deployments", name, "pods", "zones"];
  const path = label(isOwn ? ownPath : ["platform", "zones"]);
  const zones = deploymentZones(platform, deployment);
  const distinct = new Set(zones).size;
  const shape = configuredShape(deployment);
  const nodes = nodeCount(shape);
  const problems: Problem[] = [];
  const known = platformZones(platform);
  const unknown = zones.filter((zone) => !known.includes(zone));
  if (unknown.length > 0) {
    const message = `the platform has no zone ${unknown.join(", ")}; zones of the platform: ${known.join(", ")}`;
    problems.push(problem("no-such-zone", path, message));
  }
  // On eks, the platform's schema already reports a platform zone that is named twice.
  if (distinct < zones.length && (isOwn || platform.type !== "eks"))
    problems.push(problem("zone-twice", path, "a zone is named twice"));
  if (distinct > nodes) {
    // On eks, machines are planned for all zones of the platform, so a smaller deployment must name some of these
    // zones.
    const remedy =
      platform.type === "eks" && !isOwn ? `name fewer zones in ${label(ownPath)}` : `expected at most ${nodes}`;
    const message = `${distinct} zones are more than the ${nodes} nodes of ${name}; ${remedy}`;
    problems.push(problem("more-zones-than-nodes", path, message));
  }
  if (distinct < 2 && shape.replicasPerPrimary > 0) {
    const message = `one zone cannot keep the replicas of ${name} apart from their primaries; expected at least 2`;
    problems.push(problem("one-zone", path, message));
  }
  return problems;
}

function sentinelConflicts(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  if (deployment.mode !== "replication") return [];
  const { sentinel, replicas, engine } = deployment;
  if (typeof sentinel !== "object") return [];
  const path = label(["deployments", name, "sentinel"]);
  const zones = new Set(deploymentZones(platform, deployment)).size;
  return compact([
    engine === "valkey"
      ? undefined
      : problem("needs-valkey", path, `Sentinels need Valkey, but ${name} runs ${engine}`),
    ...within(path, sentinelProblems(sentinel, { name, replicas, zones })),
  ]);
}

const WITHOUT_PODS: Readonly<Record<string, string>> = {
  users: "; its deployments have only the user default",
  external: "; its servers are reached only on this machine",
  controller: "; npm start -- watch verifies its deployments again and again",
  backup: "; npm start -- archive writes backups of its deployments",
};

function valkeyPodProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  const { engine } = deployment;
  const given = [
    ...changedFields(VALKEY_FIELDS, deployment),
    ...(["users", "controller", "backup"] as const).filter((key) => deployment[key] !== undefined),
  ];
  return given.flatMap((key) => {
    const path = label(["deployments", name, key]);
    return compact([
      isPodPlatform(platform)
        ? undefined
        : problem("no-pods", path, `the platform ${platform.type} has no pods${WITHOUT_PODS[key] ?? ""}`),
      engine === "valkey" ? undefined : problem("needs-valkey", path, `needs Valkey, but ${name} runs ${engine}`),
    ]);
  });
}

function passwordProblems(
  name: string,
  { passwordSecret, passwordVersion }: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  if (passwordSecret === undefined) return [];
  const path = label(["deployments", name, "passwordSecret"]);
  return compact([
    isPodPlatform(platform) ? undefined : problem("no-secrets", path, `the platform ${platform.type} has no Secrets`),
    passwordVersion === 0
      ? undefined
      : problem("two-passwords", path, "cannot be set together with passwordVersion, which generates passwords"),
  ]);
}

function podControllerProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
  label: Label,
): Problem[] {
  const { controller } = deployment;
  if (controller === undefined) return [];
  const path = label(["deployments", name, "controller"]);
  return compact([
    configuredChart(deployment) === undefined
      ? undefined
      : problem("excluded-by-chart", path, "cannot be set together with chart"),
    ...(isPodPlatform(platform)
      ? within(path, controllerProblems(controller, controlledKind(deployment, platform)))
      : []),
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
): Problem[] {
  const { engine, settings, newerDirectives } = deployment;
  const version =
    platform === undefined || !isPodPlatform(platform) ? undefined : tagOf(podSettings(platform, deployment).image);
  const replicas = configuredShape(deployment).replicasPerPrimary;
  const path = label(["deployments", name, "settings"]);
  return within(path, settingProblems(settings, { engine, version, newerDirectives, replicas }));
}

function valueProblems(
  name: string,
  deployment: DeploymentConfig,
  { cores, pinned }: ServerResources,
  label: Label,
): Problem[] {
  const { settings } = deployment;
  const ioThreads = settings["io-threads"];
  // One core is left for the rest of the machine, unless the server has exclusive CPUs.
  const most = Math.max(1, pinned ? cores : Math.ceil(cores) - 1);
  if (ioThreads === undefined || ioThreads <= most || deployment.oversubscribed) return [];
  const remedy = `expected at most ${most}, or oversubscribed: true to measure what more threads cost`;
  const message = `${ioThreads} threads on ${cores} cores, but idle threads spin; ${remedy}`;
  return [problem("more-threads-than-cores", label(["deployments", name, "settings", "io-threads"]), message)];
}
