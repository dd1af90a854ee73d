/**
 * Automatic failover of replication on Kubernetes: Sentinels in every zone, servers that ask the Sentinels for the
 * primary before they start, and a Service whose proxies send every command to the primary.
 */
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { createFailoverPolicies } from "../network-policy";
import { createSentinelPods } from "./sentinel-pods";
import { createWriteProxy } from "./write-proxy";

/** @param nodes number of servers, with the primary */
export function createFailover(context: DeploymentContext, settings: SentinelSettings, nodes: number): void {
  createFailoverPolicies(context);
  createSentinelPods(context, settings);
  createWriteProxy(context, nodes);
}
