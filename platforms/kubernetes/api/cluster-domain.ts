/**
 * Default domain at the end of the DNS names of Services and pods. A Kubernetes cluster may be created with a different
 * one.
 */
export const CLUSTER_DOMAIN = "cluster.local";
