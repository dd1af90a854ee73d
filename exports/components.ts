/**
 * `valkey-measured`: the components, for a Pulumi program. It loads the SDKs of Pulumi and of Kubernetes, and no SDK of
 * a cloud.
 */
export { ValkeyCluster } from "../components/valkey-cluster";
export type { ValkeyClusterArgs } from "../components/valkey-cluster";
export { ValkeyReplication } from "../components/valkey-replication";
export type { ValkeyReplicationArgs } from "../components/valkey-replication";
export { UpstreamChart } from "../components/upstream-chart";
export type { UpstreamChartArgs } from "../components/upstream-chart";
export { HostDeployment } from "../components/host-deployment";
export type { HostDeploymentArgs } from "../components/host-deployment";
export { BenchmarkJob } from "../components/benchmark-job";
export type { BenchmarkCapacityArgs, BenchmarkJobArgs } from "../components/benchmark-job";
export { LoadCapacity } from "../components/load-capacity";
export type { LoadCapacityArgs } from "../components/load-capacity";
export { ValkeyAlerts } from "../components/valkey-alerts";
export type { ValkeyAlertsArgs } from "../components/valkey-alerts";
export { ValkeyDashboard } from "../components/valkey-dashboard";
export type { ValkeyDashboardArgs } from "../components/valkey-dashboard";
export type {
  ExternalNode,
  ExternalTarget,
  ExternalTlsArgs,
  LoadGeneratorArgs,
  MeasurementTarget,
} from "../components/measuring/arguments";
export type { MixedWorkloadArgs, OpenLoopArgs, SearchArgs } from "../components/measuring/workload-arguments";
export { DEFAULT_IMAGE } from "../platforms/kubernetes/default-images";
export type { ClusterAccess, DeploymentArgs } from "../components/kubernetes/arguments";
export type { NetworkPolicyPeer, Toleration } from "../components/kubernetes/kubernetes-types";
export type { DeploymentReference, KubernetesReference } from "../platforms/deployment-reference";
export type { Shape } from "../valkey/topology/placement";
export { BadInput, Failure } from "../lib/errors";
