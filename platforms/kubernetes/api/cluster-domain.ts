/**
 * Default domain at the end of the DNS names of Services and pods. A Kubernetes cluster may have a different domain.
 */
export const CLUSTER_DOMAIN = "cluster.local";
