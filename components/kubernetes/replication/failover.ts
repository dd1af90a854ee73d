/**
 * Automatic failover of replication on Kubernetes: Sentinels in every zone, servers that ask the Sentinels for the
 * primary before they start, and proxies that send every command to the primary.
 */
import type { SentinelSettings } from "../../../valkey/sentinel-plan";
import type { DeploymentContext } from "../deployment-context";
import type * as k8s from "../kubernetes-sdk";
import { createFailoverPolicies } from "../network-policy";
import { createSentinelPods } from "./sentinel-pods";
import { createProxies } from "./proxies";

/** Labels that machines must have. */
export interface FailoverNodeSelectors {
  readonly sentinels: Readonly<Record<string, string>>;
  readonly proxies: Readonly<Record<string, string>>;
}

interface FailoverPlan {
  readonly settings: SentinelSettings;
  /** Number of servers, with the primary. */
  readonly nodes: number;
  /** Secret with the password. */
  readonly secret: k8s.core.v1.Secret;
  /** @default those of the servers */
  readonly selectors?: FailoverNodeSelectors | undefined;
}

/** @returns the proxies, to which the Services for writing lead */
export function createFailover(
  context: DeploymentContext,
  { settings, nodes, secret, selectors }: FailoverPlan,
): k8s.apps.v1.Deployment {
  createFailoverPolicies(context);
  createSentinelPods(onMachines(context, selectors?.sentinels), settings);
  return createProxies(onMachines(context, selectors?.proxies), nodes, secret);
}

function onMachines(context: DeploymentContext, nodeSelector?: Readonly<Record<string, string>>): DeploymentContext {
  if (nodeSelector === undefined) return context;
  const { args } = context;
  return { ...context, args: { ...args, placement: { ...args.placement, nodeSelector } } };
}
