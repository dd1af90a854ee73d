/** Consequences of failures for the deployments of a stack. Pure. */
import type { Survival } from "../../valkey/planning/survival";
import { survivals } from "../../valkey/planning/survival";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import { configuredChart, configuredSentinels, configuredShape } from "./benchmark-plans";
import { deploymentZones, isPodPlatform, podSettings } from "./pod-settings";

/**
 * Consequences of failures for one deployment. The list is empty on this machine, where servers are only for
 * measurements and keep no data.
 */
export function plannedSurvivals(platform: PlatformConfig, deployment: DeploymentConfig): readonly Survival[] {
  if (!isPodPlatform(platform)) return [];
  const { engine, mode, settings } = deployment;
  const asksBeforeStart = engine === "valkey" && configuredChart(deployment) === undefined;
  const { placement, storage } = podSettings(platform, deployment);
  return survivals({
    ...{ asksBeforeStart, mode, settings, shape: configuredShape(deployment) },
    downAfterMs: configuredSentinels(deployment)?.downAfterMs,
    zones: deploymentZones(platform, deployment).length,
    oneMachine: placement.oneMachine ?? false,
    ephemeral: storage.ephemeral,
  });
}
