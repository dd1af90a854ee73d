/** Sentinels and settings that are derived from a deployment's size and zones. Pure. */
import { requestedSentinels } from "../../valkey/sentinel/sentinel-settings";
import { nodeCount } from "../../valkey/topology/placement";
import { supportsPingInterval, derivedSettings } from "../../valkey/planning/derived-settings";
import { withinMemory } from "../../valkey/planning/memory-plan";
import { configuredShape } from "../plan/benchmark-plans";
import { memoryDemand } from "../plan/memory";
import { deploymentZones, isPodPlatform, podSettings } from "../plan/pod-settings";
import type { DeploymentConfig } from "./schema/deployments";
import { DEFAULT_SENTINELS } from "./schema/deployments";
import type { PlatformConfig } from "./schema/platform";

/**
 * The deployment with a decision about Sentinels: the option `sentinel` contains the settings of the Sentinels, or
 * `false` for no Sentinels. If the option is not configured, the decision depends on the engine, the replicas and the
 * zones.
 */
export function withDerivedSentinels(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig,
): DeploymentConfig {
  if (deployment.mode !== "replication" || typeof deployment.sentinel === "object") return deployment;
  const { replicas, engine, sentinel, chart } = deployment;
  const zones = new Set(deploymentZones(platform, deployment)).size;
  const isLeft = sentinel === undefined && engine === "valkey" && chart === undefined;
  const request = requestedSentinels(isLeft ? undefined : (sentinel ?? false), { name, replicas, zones });
  return { ...deployment, sentinel: request === undefined ? false : DEFAULT_SENTINELS };
}

/**
 * The deployment with its configured settings, and with derived values for settings that are not configured. On the
 * platform `host`, servers get only settings that their version knows.
 */
export function withDerivedSettings(deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  const sized = withDerivedMemory(deployment, platform);
  if (sized.mode !== "cluster") return sized;
  const pings =
    !isPodPlatform(platform) ||
    (deployment.engine !== "dragonfly" && supportsPingInterval(imageVersion(podSettings(platform, deployment).image)));
  return {
    ...sized,
    settings: derivedSettings(sized.settings, nodeCount(configuredShape(deployment)), pings),
  };
}

function withDerivedMemory(deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  const demand = memoryDemand(platform, deployment);
  return demand === undefined ? deployment : { ...deployment, settings: withinMemory(demand) };
}

/** Version at the beginning of an image's tag; an empty text if the tag does not begin with a version. */
function imageVersion(image: string): string {
  return /:(\d+\.\d+[^/]*)$/.exec(image.split("@")[0] ?? "")?.[1] ?? "";
}
