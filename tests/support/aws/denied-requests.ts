/** Requests of recorded calls that policies deny. */
import { ACCOUNT_ID } from "../pulumi/eks";
import type { CallRequest } from "./karpenter-requests";
import type { NamedPolicy } from "./policy-simulation";
import { isAllowed } from "./policy-simulation";

/** Of equal requests only one is evaluated: ids do not matter to the policies. */
export function distinctRequests(requests: readonly CallRequest[]): CallRequest[] {
  const keys = requests.map(({ action, resource, context }) => {
    const kind = action.startsWith("ssm:") ? resource : resource.replace(/[^/:]*$/, "");
    return JSON.stringify([action, kind, Object.entries(context ?? {}).sort()]);
  });
  const first = new Map(keys.map((key, index) => [key, index]).reverse() as [string, number][]);
  return requests.filter((_, index) => first.get(keys[index] ?? "") === index);
}

/** @returns the requests of a role that its policies do not allow, in order */
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

/** `ec2:RunInstances on arn:… for CreateFleet with …`, for messages. */
export function describeRequest({ action, resource, context, call }: CallRequest): string {
  return `${action} on ${resource} for ${call.operation} with ${JSON.stringify(context)}`;
}
