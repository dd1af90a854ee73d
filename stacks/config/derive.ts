/** Derived settings: those that follow from a deployment's size. Pure. */
import { nodeCount } from "../../valkey/topology/placement";
import { supportsPingInterval, derivedSettings } from "../../valkey/topology/derived-settings";
import { configuredShape } from "../plan/benchmark-plans";
import { isPodPlatform, podSettings } from "../plan/pods";
import type { DeploymentConfig } from "./schema/deployments";
import type { PlatformConfig } from "./schema/platform";

/**
 * The deployment with derived settings where it names none. Servers of this machine get those that their version knows.
 */
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

/** The version at the beginning of an image's tag; empty where there is none. */
function imageVersion(image: string): string {
  return /:(\d+\.\d+[^/]*)$/.exec(image.split("@")[0] ?? "")?.[1] ?? "";
}
