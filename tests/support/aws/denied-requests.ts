/** Requests of recorded calls that policies deny. */
import { controllerPolicies } from "../../../components/eks/karpenter/karpenter-policies";
import { ACCOUNT_ID } from "../pulumi/eks";
import type { CallRequest } from "./karpenter-requests";
import { type NamedPolicy, isAllowed } from "./policy-simulation";

/** Policies of the controller of a cluster. @param spot whether a pool is of spot machines */
export function karpenterPolicies(clusterName: string, spot = true): NamedPolicy[] {
  const documents = controllerPolicies({
    partition: "aws",
    region: "us-west-2",
    accountId: ACCOUNT_ID,
    clusterName,
    nodeRoleArn: `arn:aws:iam::${ACCOUNT_ID}:role/${clusterName}-karpenter-node`,
    queueArn: `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:${clusterName}`,
    spot,
  });
  return Object.entries(documents).map(([name, policy]) => ({ name, policy }));
}

/** Tags whose values are a machine's own name. */
const NAMES = /\/(Name|karpenter\.sh\/nodeclaim)$/;

/** One of each set of equal requests: ids and names of machines do not matter to the policies. */
export function distinctRequests(requests: readonly CallRequest[]): CallRequest[] {
  const keys = requests.map(({ action, resource, context }) => {
    const kind = action.startsWith("ssm:") ? resource : resource.replace(/[^/:]*$/, "");
    return JSON.stringify([
      action,
      kind,
      Object.entries(context ?? {})
        .map(([name, value]) => [name, NAMES.test(name) ? "" : value])
        .sort(),
    ]);
  });
  const first = new Map(keys.map((key, index) => [key, index]).reverse() as [string, number][]);
  return requests.filter((_, index) => first.get(keys[index] ?? "") === index);
}

export async function deniedRequests(
  requests: readonly CallRequest[],
  policies: readonly NamedPolicy[],
  roleName: string,
): Promise<CallRequest[]> {
  const role = `arn:aws:iam::${ACCOUNT_ID}:role/${roleName}`;
  const denied: CallRequest[] = [];
  for (const request of distinctRequests(requests))
    if (!(await isAllowed(request, role, policies))) denied.push(request);
  return denied;
}

export function describeRequest({ action, resource, context, call }: CallRequest): string {
  return `${action} on ${resource} for ${call.operation} with ${JSON.stringify(context)}`;
}
