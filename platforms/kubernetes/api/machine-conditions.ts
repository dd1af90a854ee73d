import type { V1Node } from "@kubernetes/client-node";

/** Set by a person or the cloud. Kubernetes deletes the pods of such a machine and detaches its volumes. */
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

export function isMachineReady({ status }: V1Node): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True");
}

export function isOutOfService({ spec }: V1Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
