/** Computes how much memory the servers of a deployment need in their pods. Pure. */
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { MemoryDemand } from "../../valkey/planning/memory-plan";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import { configuredShape } from "./benchmark-plans";
import { isPodPlatform, podSettings } from "./pod-settings";

/**
 * Memory limit and settings from which the need for memory of a deployment's pods is planned. The result is undefined for
 * servers on this machine, because all of them share the machine's memory. It is also undefined for Dragonfly: it does
 * not fork, so the plan does not apply to it.
 */
export function memoryDemand(platform: PlatformConfig, deployment: DeploymentConfig): MemoryDemand | undefined {
  const { engine, mode, settings } = deployment;
  if (!isPodPlatform(platform) || engine === "dragonfly") return undefined;
  const limitBytes = parseQuantity(podSettings(platform, deployment).resources.limits.memory);
  return { limitBytes, mode, shape: configuredShape(deployment), settings };
}
