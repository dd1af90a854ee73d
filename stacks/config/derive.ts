/** The settings that follow from a deployment's size. Pure. */
import { nodeCount } from "../../valkey/topology/placement";
import { supportsPingInterval, derivedSettings } from "../../valkey/topology/derived-settings";
import { configuredShape } from "../plan/benchmark-plans";
import { isPodPlatform, podSettings } from "../plan/pods";
import type { DeploymentConfig } from "./schema/deployments";
import type { PlatformConfig } from "./schema/platform";

/** With them where it names no others. Servers of this machine are told what they know of them when they start. */
export function withDerivedSettings(deployment: DeploymentConfig, platform: PlatformConfig): DeploymentConfig {
  if (deployment.mode !== "cluster") return deployment;
  const pings =
    !isPodPlatform(platform) ||
    (deployment.engine !== "dragonfly" && supportsPingInterval(imageVersion(podSettings(platform, deployment).image)));
  return {
    ...deployment,
    settings: derivedSettings(deployment.settings, nodeCount(configuredShape(deployment)), pings),
  };
}

/** What a tag says that begins with a version; else nothing. */
function imageVersion(image: string): string {
  return /:(\d+\.\d+[^/]*)$/.exec(image.split("@")[0] ?? "")?.[1] ?? "";
}
