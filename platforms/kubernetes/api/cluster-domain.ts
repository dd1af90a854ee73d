/** Domain at the end of the DNS names of Services and pods, unless the Kubernetes cluster was made with another. */
export const CLUSTER_DOMAIN = "cluster.local";
