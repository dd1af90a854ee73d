import { formatCount } from "../../lib/units";
import { LARGE_CLUSTER_NODES, withNeededReplicas } from "../../valkey/planning/derived-settings";
import { nodeCount } from "../../valkey/topology/placement";
import { writesToDisk } from "../../valkey/settings/settings";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { StackConfig } from "../config/schema/stack";
import { configuredShape, configuredChart, configuredSentinels } from "./benchmark-plans";
import { isPodPlatform, podSettings, deploymentZones } from "./pod-settings";
import { type Survival, survivals } from "../../valkey/planning/survival";
import type { PlatformConfig } from "../config/schema/platform";

export function storageNotes({ platform, deployments }: Pick<StackConfig, "platform" | "deployments">): string[] {
  if (!isPodPlatform(platform)) return [];
  const clusters = new Map<string, string[]>();
  for (const [name, deployment] of Object.entries(deployments)) {
    if (deployment.mode !== "cluster") continue;
    const { ephemeral } = podSettings(platform, deployment).storage;
    const remark = ephemeral ? lossOf(deployment) : needlessVolumes(deployment);
    if (remark !== undefined) clusters.set(remark, [...(clusters.get(remark) ?? []), name]);
  }
  return [...clusters].map(([remark, names]) => `${names.join(", ")}: ${remark}`);
}

function lossOf(deployment: DeploymentConfig): string {
  const kept = writesToDisk(deployment.settings) ? "keys and nodes.conf are" : "the only file, nodes.conf, is";
  const { replicasPerPrimary } = configuredShape(deployment);
  const then =
    replicasPerPrimary > 0
      ? "Meanwhile the other nodes of the shard serve its slots, and the new node joins by itself"
      : "No node serves the slots of the deleted pod until pulumi up --refresh adds the new node to the cluster";
  return `${kept} on the disks of the machines, so a deleted pod comes back as a new node without keys. ${then}`;
}

function needlessVolumes(deployment: DeploymentConfig): string | undefined {
  const count = nodeCount(configuredShape(deployment));
  if (writesToDisk(deployment.settings) || count < LARGE_CLUSTER_NODES) return undefined;
  return `${formatCount(count)} volumes contain only nodes.conf; to use no volumes, set pods: { storage: { ephemeral: true } }`;
}

/** None on this machine, where servers are only for measurements and keep no data. */
export function plannedSurvivals(platform: PlatformConfig, deployment: DeploymentConfig): readonly Survival[] {
  if (!isPodPlatform(platform)) return [];
  const { engine, mode } = deployment;
  const shape = configuredShape(deployment);
  const asksBeforeStart = engine === "valkey" && configuredChart(deployment) === undefined;
  const settings = asksBeforeStart
    ? withNeededReplicas(deployment.settings, shape.replicasPerPrimary)
    : deployment.settings;
  const { placement, storage } = podSettings(platform, deployment);
  return survivals({
    ...{ asksBeforeStart, mode, settings, shape },
    downAfterMs: configuredSentinels(deployment)?.downAfterMs,
    zones: deploymentZones(platform, deployment).length,
    oneMachine: placement.oneMachine ?? false,
    ephemeral: storage.ephemeral,
  });
}
