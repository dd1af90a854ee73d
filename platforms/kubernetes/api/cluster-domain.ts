/** A Kubernetes cluster may have a different domain. */
export const CLUSTER_DOMAIN = "cluster.local";
