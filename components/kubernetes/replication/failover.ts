/**
 * Automatic failover in replication mode on Kubernetes. There are Sentinels in every zone. Servers ask the Sentinels
 * for the primary before they start. Proxies forward clients to the primary.
 */
import type { SentinelSettings } from "../../../valkey/sentinel-config";
import type { DeploymentContext } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { createFailoverPolicies } from "../network-policy";
import { createSentinelPods } from "./sentinel-pods";
import { createProxies } from "./proxies";

/** Labels that machines of Sentinels and of proxies must have. */
export interface FailoverNodeSelectors {
  readonly sentinels: Readonly<Record<string, string>>;
  readonly proxies: Readonly<Record<string, string>>;
}

interface FailoverPlan {
  readonly settings: SentinelSettings;
  /** Number of servers, including the primary. */
  readonly nodes: number;
  /** Secret with the password. */
  readonly secret: k8s.core.v1.Secret;
  /** Labels of machines for Sentinels and proxies. @default the labels of the servers' machines */
  readonly selectors?: FailoverNodeSelectors | undefined;
}

/** Creates Sentinels and proxies. @returns the proxies, to which the Services of the primary route */
export function createFailover(
  context: DeploymentContext,
  { settings, nodes, secret, selectors }: FailoverPlan,
): k8s.apps.v1.Deployment {
  createFailoverPolicies(context);
  createSentinelPods(onMachines(context, selectors?.sentinels), settings);
  return createProxies(onMachines(context, selectors?.proxies), nodes, settings, secret);
}

function onMachines(context: DeploymentContext, nodeSelector?: Readonly<Record<string, string>>): DeploymentContext {
  if (nodeSelector === undefined) return context;
  const { args } = context;
  return { ...context, args: { ...args, placement: { ...args.placement, nodeSelector } } };
}
