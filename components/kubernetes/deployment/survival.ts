import { type Survival, survivals } from "../../../valkey/planning/survival";
import type { ServerArgs } from "../arguments";
import { hasVolumes } from "../pods/pod-volumes";
import type { DeploymentKind } from "../deployment-context";

/** For each kind of failure: the data that the deployment can lose, and the time during which clients cannot write. */
export function deploymentSurvivals(
  { engine = "valkey", isUpstreamChart = false, mode, shape, sentinel }: DeploymentKind,
  { settings, placement, storage }: Pick<ServerArgs, "settings" | "placement" | "storage">,
): readonly Survival[] {
  return survivals({
    ...{ asksBeforeStart: engine === "valkey" && !isUpstreamChart, mode, shape, settings },
    downAfterMs: sentinel?.downAfterMs,
    zones: placement.zones.length,
    oneMachine: placement.oneMachine ?? false,
    ephemeral: !hasVolumes({ engine, storage }),
  });
}
