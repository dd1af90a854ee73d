/**
 * `valkey-measured`: the components, for a Pulumi program. Loads the Pulumi SDK and that of Kubernetes, and nothing of a
 * cloud.
 */
export { ValkeyCluster } from "../components/valkey-cluster";
export type { ValkeyClusterArgs } from "../components/valkey-cluster";
export { ValkeyReplication } from "../components/valkey-replication";
export type { ValkeyReplicationArgs } from "../components/valkey-replication";
export { DEFAULT_IMAGE } from "../components/deployment-args";
export type { ClusterAccess, DeploymentArgs } from "../components/deployment-args";
export type { DeploymentReference, KubernetesReference } from "../platforms/deployment-reference";
export type { Shape } from "../valkey/topology/placement";
export { BadInput, Failure } from "../lib/errors";
