/** Notes on the volumes of clusters, and on what pods without one lose. Pure. */
import { formatCount } from "../../lib/units";
import { LARGE_CLUSTER_NODES } from "../../valkey/planning/derived-settings";
import { nodeCount } from "../../valkey/topology/placement";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { StackConfig } from "../config/schema/stack";
import { configuredShape } from "./benchmark-plans";
import { isPodPlatform, podSettings } from "./pods";

/** A remark for each kind of storage, with the clusters that have it. */
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
  const kept = keepsKeys(deployment) ? "keys and nodes.conf lie" : "nodes.conf, all that is written, lies";
  const { replicasPerPrimary } = configuredShape(deployment);
  const then =
    replicasPerPrimary > 0
      ? "while the rest of its shard serves; it joins again by itself"
      : "and nothing serves its slots; pulumi up --refresh takes the pod in";
  return `${kept} on the machines' disks: a pod that is deleted comes back as a new node without keys, ${then}`;
}

/** Undefined where volumes hold keys, and for clusters that are not large. */
function needlessVolumes(deployment: DeploymentConfig): string | undefined {
  const count = nodeCount(configuredShape(deployment));
  if (keepsKeys(deployment) || count < LARGE_CLUSTER_NODES) return undefined;
  return `${formatCount(count)} volumes contain only nodes.conf; pods: { storage: { ephemeral: true } } makes none`;
}

function keepsKeys({ settings }: DeploymentConfig): boolean {
  return settings.save !== "" || settings.appendonly === true;
}
