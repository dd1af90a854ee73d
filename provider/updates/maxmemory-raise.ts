/** Checks whether running nodes have enough memory for a higher maxmemory. */
import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";

/**
 * Returns a function that tells whether a node has enough memory. A node has enough memory if its container has no
 * memory limit, or at least the limit `wanted`.
 * @param wanted memory limit that the deployment's pods must have, as a Kubernetes quantity. @default pods need no
 * limit
 */
export function hasMemory(deployment: Deployment, wanted: string | undefined): (node: DeploymentNode) => boolean {
  const bytes = wanted === undefined ? 0 : parseQuantity(wanted);
  return ({ name }) => (deployment.memoryLimits?.get(name) ?? Infinity) >= bytes;
}
