/** AWS' decisions on requests, by policy documents and without AWS. */
import { runSimulation } from "@cloud-copilot/iam-simulate";
import type { PolicyDocument } from "../../../components/eks/karpenter/karpenter-policies";
import { ACCOUNT_ID, plainArn } from "../pulumi/eks";
import type { ProgramRun } from "../pulumi/pulumi-mocks";

export interface PolicyRequest {
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, string | readonly string[]>>;
}

export interface NamedPolicy {
  readonly name: string;
  readonly policy: PolicyDocument;
}

export function declaredPolicies(program: ProgramRun): NamedPolicy[] {
  return program.ofType("aws:iam/policy:Policy").map(({ inputs }) => ({
    name: String(inputs["name"]),
    policy: JSON.parse(plainArn(String(inputs["policy"]))) as PolicyDocument,
  }));
}

/**
 * Whether AWS would allow a request.
 * @param principal ARN of a role, or a service
 * @param identityPolicies of the role; a service has none
 * @throws for an action, a resource or a condition key that AWS does not have
 */
export async function isAllowed(
  { action, resource, context = {} }: PolicyRequest,
  principal: string,
  identityPolicies: readonly NamedPolicy[],
  resourcePolicy?: PolicyDocument,
): Promise<boolean> {
  // AWS' own parameters are in no account, which the simulator's resource types do not know.
  if (/^arn:[^:]*:ssm:[^:]*::/.test(resource))
    return identityPolicies.some(({ policy }) => grants(policy, action, resource));
  const contextVariables = Object.fromEntries(
    Object.entries(context).map(([key, value]) => [key, typeof value === "string" ? value : [...value]]),
  );
  const result = await runSimulation(
    {
      request: { action, principal, resource: { resource, accountId: ACCOUNT_ID }, contextVariables },
      identityPolicies: identityPolicies.map(({ name, policy }) => ({ name, policy })),
      resourcePolicy,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (result.resultType === "error") throw new Error(`${action} on ${resource}: ${JSON.stringify(result.errors)}`);
  const analysis =
    result.resultType === "single" ? [result.result.analysis] : result.results.map((each) => each.analysis);
  return analysis.length > 0 && analysis.every((each) => each.result === "Allowed");
}

function grants({ Statement }: PolicyDocument, action: string, resource: string): boolean {
  return Statement.some(
    (each) =>
      each.Effect === "Allow" &&
      each.Condition === undefined &&
      [each.Action].flat().includes(action) &&
      [each.Resource].flat().some((pattern) => matches(pattern, resource)),
  );
}

/** IAM's wildcards: `*` and `?`. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${source}$`, "s").test(text);
}
