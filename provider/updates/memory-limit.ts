/** Whether running nodes have the memory for a higher maxmemory. */
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";

/**
 * A node has it when its container's limit is the wanted one or higher, or when it has no limit.
 * @param wanted memory limit that the deployment's pods are to have, as Kubernetes writes it. @default no limit is wanted
 */
export function hasMemory(deployment: Deployment, wanted: string | undefined): (node: DeploymentNode) => boolean {
  const bytes = wanted === undefined ? 0 : parseQuantity(wanted);
  return ({ name }) => (deployment.memoryLimits?.get(name) ?? Infinity) >= bytes;
}
