/** The components that this plugin offers in every language. Each is loaded when it is first used. */
import type * as pulumi from "@pulumi/pulumi";

/** `npm run docs` reads their arguments and outputs for components/plugin/schema.json and docs/components.md. */
const COMPONENTS = {
  ValkeyCluster: async () => (await import("../valkey-cluster.js")).ValkeyCluster,
  ValkeyReplication: async () => (await import("../valkey-replication.js")).ValkeyReplication,
  UpstreamChart: async () => (await import("../upstream-chart.js")).UpstreamChart,
  BenchmarkJob: async () => (await import("../benchmark-job.js")).BenchmarkJob,
  LoadCapacity: async () => (await import("../load-capacity.js")).LoadCapacity,
  ValkeyAlerts: async () => (await import("../valkey-alerts.js")).ValkeyAlerts,
  ValkeyDashboard: async () => (await import("../valkey-dashboard.js")).ValkeyDashboard,
  EksPlatform: async () => (await import("../eks/platform.js")).EksPlatform,
  BackupAccess: async () => (await import("../eks/backup-access.js")).BackupAccess,
  RestoreAccess: async () => (await import("../eks/backup-access.js")).RestoreAccess,
  KarpenterPools: async () => (await import("../eks/karpenter/karpenter-pools.js")).KarpenterPools,
};

type ComponentClass = new (
  name: string,
  args: never,
  options: pulumi.ComponentResourceOptions,
) => pulumi.ComponentResource;

export async function loadComponent(name: string): Promise<ComponentClass | undefined> {
  const loaders: Readonly<Record<string, () => Promise<ComponentClass>>> = COMPONENTS;
  return loaders[name]?.();
}
