/** Events that the deployments of a stack survive. Pure. */
import type { Survival } from "../../valkey/planning/survival";
import { survivals } from "../../valkey/planning/survival";
import type { DeploymentConfig } from "../config/schema/deployments";
import type { PlatformConfig } from "../config/schema/platform";
import { configuredChart, configuredSentinels, configuredShape } from "./benchmark-plans";
import { deploymentZones, isPodPlatform, podSettings } from "./pods";

/** Empty on this machine, whose servers are there to be measured and leave nothing behind. */
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
