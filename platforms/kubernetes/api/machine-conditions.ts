/** Conditions of machines, as the API server reports them. Pure. */
import type { V1Node } from "@kubernetes/client-node";

/**
 * Taint by which a person, or a controller of the cloud, says that a machine is shut down. Kubernetes deletes the pods of
 * such a machine and detaches its volumes.
 */
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

/** Whether the kubelet of the machine reports that the machine can run pods. */
export function isMachineReady({ status }: V1Node): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");
}

export function isOutOfService({ spec }: V1Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
