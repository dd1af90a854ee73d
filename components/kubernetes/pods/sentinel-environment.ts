/** Environment variables of scripts that ask Sentinels. Pure. */
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import type { DeploymentContext } from "../deployment-context";
import { hostInPod } from "./server-pod";

export function sentinelVariables(
  context: DeploymentContext,
  { count, quorum, downAfterMs, failoverTimeoutMs }: SentinelSettings,
): Record<string, string> {
  return {
    SENTINELS: `.${hostInPod(context.names.sentinel, context)}`,
    COUNT: String(count),
    QUORUM: String(quorum),
    DOWN_AFTER: String(downAfterMs),
    FAILOVER_TIMEOUT: String(failoverTimeoutMs),
  };
}
