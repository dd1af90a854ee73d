/** What sentinel.sh reads from a container's environment. */
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { scriptEnvironment } from "../pods/volumes";

export function sentinelEnvironment(
  { deployment, names, args }: DeploymentContext,
  { count, quorum, downAfterMs, failoverTimeoutMs }: SentinelSettings,
): types.input.core.v1.EnvVar[] {
  const clusterDomain = args.clusterDomain ?? "cluster.local";
  /** What follows a pod's name in its host name. */
  const hostSuffix = (service: string): pulumi.Output<string> =>
    pulumi.interpolate`.${service}.${args.namespace}.svc.${clusterDomain}`;
  const values: Record<string, pulumi.Input<string>> = {
    ...scriptEnvironment(undefined),
    DEPLOYMENT: deployment,
    SERVERS: hostSuffix(names.headless),
    SENTINELS: hostSuffix(names.sentinel),
    COUNT: String(count),
    QUORUM: String(quorum),
    DOWN_AFTER: String(downAfterMs),
    FAILOVER_TIMEOUT: String(failoverTimeoutMs),
  };
  return [
    ...Object.entries(values).map(([name, value]) => ({ name, value })),
    { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ];
}
