/**
 * Automatic failover of replication on Kubernetes: Sentinels in every zone, servers that ask the Sentinels for the
 * primary before they start, and a Service whose proxies send every command to the primary.
 */
import type { SentinelSettings } from "../../../valkey/sentinel/plan";
import type { DeploymentContext } from "../deployment-context";
import { createFailoverPolicies } from "../network-policy";
import { createSentinelPods } from "./sentinel-pods";
import { createWriteProxy } from "./write-proxy";

/** Labels that machines must have. */
export interface FailoverNodeSelectors {
  readonly sentinels: Readonly<Record<string, string>>;
  readonly proxies: Readonly<Record<string, string>>;
}

/**
 * @param nodes number of servers, with the primary
 * @param selectors @default those of the servers
 */
export function createFailover(
  context: DeploymentContext,
  settings: SentinelSettings,
  nodes: number,
  selectors?: FailoverNodeSelectors,
): void {
  createFailoverPolicies(context);
  createSentinelPods(onMachines(context, selectors?.sentinels), settings);
  createWriteProxy(onMachines(context, selectors?.proxies), nodes);
}

function onMachines(context: DeploymentContext, nodeSelector?: Readonly<Record<string, string>>): DeploymentContext {
  if (nodeSelector === undefined) return context;
  const { args } = context;
  return { ...context, args: { ...args, placement: { ...args.placement, nodeSelector } } };
}
