/** Environment of containers that run sentinel.sh or hand-over-replication.sh. */
import type { types } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/cluster-domain";
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { scriptEnvironment } from "../pods/volumes";

export function sentinelVariables(
  { deployment, names, args }: DeploymentContext,
  { count, quorum, downAfterMs, failoverTimeoutMs }: SentinelSettings,
): Record<string, pulumi.Input<string>> {
  const clusterDomain = args.clusterDomain ?? CLUSTER_DOMAIN;
  /** Suffix after a pod's name in its host name. */
  const hostSuffix = (service: string): pulumi.Output<string> =>
    pulumi.interpolate`.${service}.${args.namespace}.svc.${clusterDomain}`;
  return {
    ...scriptEnvironment(undefined),
    DEPLOYMENT: deployment,
    SERVERS: hostSuffix(names.headless),
    SENTINELS: hostSuffix(names.sentinel),
    COUNT: String(count),
    QUORUM: String(quorum),
    DOWN_AFTER: String(downAfterMs),
    FAILOVER_TIMEOUT: String(failoverTimeoutMs),
  };
}

export function sentinelEnvironment(
  context: DeploymentContext,
  settings: SentinelSettings,
): types.input.core.v1.EnvVar[] {
  return [
    ...Object.entries(sentinelVariables(context, settings)).map(([name, value]) => ({ name, value })),
    { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ];
}
