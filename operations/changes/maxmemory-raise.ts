import { parseQuantity } from "../../platforms/kubernetes/api/quantity";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";

/** Its container has no memory limit, or at least the limit `wanted`. @param wanted @default pods need no limit */
export function hasMemory(deployment: Deployment, wanted: string | undefined): (node: DeploymentNode) => boolean {
  const bytes = wanted === undefined ? 0 : parseQuantity(wanted);
  return ({ name }) => (deployment.memoryLimits?.get(name) ?? Infinity) >= bytes;
}
