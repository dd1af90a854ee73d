/** What cluster-wide DNS names of Services and pods end in, where the Kubernetes cluster was made without another. */
export const CLUSTER_DOMAIN = "cluster.local";
