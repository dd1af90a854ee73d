/** The memory of a deployment's pods, as far as their servers obey `maxmemory`. Pure. */
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { MemoryDemand } from "../../valkey/planning/memory-plan";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import { configuredShape } from "./benchmark-plans";
import { isPodPlatform, podSettings } from "./pods";

/** Undefined on this machine, whose memory all servers share, and for Dragonfly, which forks no child. */
export function memoryDemand(platform: PlatformConfig, deployment: DeploymentConfig): MemoryDemand | undefined {
  const { engine, mode, settings } = deployment;
  if (!isPodPlatform(platform) || engine === "dragonfly") return undefined;
  const limitBytes = parseQuantity(podSettings(platform, deployment).resources.limits.memory);
  return { limitBytes, mode, shape: configuredShape(deployment), settings };
}
