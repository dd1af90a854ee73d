import { beforeAll, describe, expect, it } from "vitest";
import type { PolicyDocument } from "../../../../components/eks/karpenter/karpenter-policies";
import { POOL_DEFAULTS } from "../../../../platforms/eks/pools/pools";
import type { NamedPolicy, PolicyRequest } from "../../../support/aws/policy-simulation";
import { karpenterPolicies } from "../../../support/aws/denied-requests";
import { declaredPolicies, isAllowed } from "../../../support/aws/policy-simulation";
import { ACCOUNT_ID, declare, plainArn, platformArgs } from "../../../support/pulumi/eks";
import type { ProgramRun } from "../../../support/pulumi/pulumi-mocks";

const CONTROLLER = `arn:aws:iam::${ACCOUNT_ID}:role/valkey-karpenter`;
const ec2 = (kind: string, id = `${kind}-1`): string => `arn:aws:ec2:us-west-2:${ACCOUNT_ID}:${kind}/${id}`;

let program: ProgramRun;
/** The documents as declared, by name. */
let policies: readonly NamedPolicy[];
let queue: NamedPolicy;

beforeAll(async () => {
  const { EksPlatform } = await import("../../../../components/eks/platform.js");
  program = await declare(() => new EksPlatform("valkey", platformArgs()));
  const documentOf = (text: unknown): PolicyDocument => JSON.parse(plainArn(String(text))) as PolicyDocument;
  policies = declaredPolicies(program);
  queue = { name: "queue", policy: documentOf(program.one("aws:sqs/queuePolicy:QueuePolicy").inputs["policy"]) };
}, 120_000);

/** Decision that AWS would make, with every policy of the controller's role. */
const decide = (request: PolicyRequest): Promise<boolean> => isAllowed(request, CONTROLLER, policies);

const OWN = "valkey";
const FOREIGN = "orders";
const carries = (cluster: string): Record<string, string> => ({
  [`aws:ResourceTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:ResourceTag/karpenter.sh/nodepool": "servers",
});
const profileCarries = (cluster: string): Record<string, string> => ({
  [`aws:ResourceTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:ResourceTag/topology.kubernetes.io/region": "us-west-2",
  "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "servers",
});
const profile = `arn:aws:iam::${ACCOUNT_ID}:instance-profile/valkey_1`;
const QUEUE = `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:valkey`;
const role = (cluster: string): string => `arn:aws:iam::${ACCOUNT_ID}:role/${cluster}-karpenter-node`;

const request = (
  action: string,
  resource: string,
  context: NonNullable<PolicyRequest["context"]> = {},
): PolicyRequest => ({ action, resource, context });
/** Calls that no recording has (karpenter-calls.test.ts), or that only read, each for a cluster: its own or a foreign one. */
const OPERATIONS: Readonly<Record<string, (cluster: string) => PolicyRequest>> = {
  "tag an instance profile": (cluster) =>
    request("iam:TagInstanceProfile", profile, {
      ...profileCarries(cluster),
      [`aws:RequestTag/kubernetes.io/cluster/${cluster}`]: "owned",
      "aws:RequestTag/eks:eks-cluster-name": cluster,
      "aws:RequestTag/topology.kubernetes.io/region": "us-west-2",
      "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "servers",
    }),
  "take a profile's role": (cluster) => request("iam:RemoveRoleFromInstanceProfile", profile, profileCarries(cluster)),
  "remove an instance profile": (cluster) => request("iam:DeleteInstanceProfile", profile, profileCarries(cluster)),
  "ask for the cluster's address": (cluster) =>
    request("eks:DescribeCluster", `arn:aws:eks:us-west-2:${ACCOUNT_ID}:cluster/${cluster}`),
};

describe("Karpenter's controller", () => {
  it.each(Object.keys(OPERATIONS))("may %s for its own cluster and not for a foreign one", async (what) => {
    const operation = OPERATIONS[what];
    if (operation === undefined) throw new Error(what);
    expect(await decide(operation(OWN)), "its own").toBe(true);
    expect(await decide(operation(FOREIGN)), "a foreign one's").toBe(false);
  });

  it.each<[string, PolicyRequest, boolean]>([
    [
      "read machines of its region",
      request("ec2:DescribeInstances", "*", { "aws:RequestedRegion": "us-west-2" }),
      true,
    ],
    [
      "read the status of machines (since 1.12)",
      request("ec2:DescribeInstanceStatus", "*", { "aws:RequestedRegion": "us-west-2" }),
      true,
    ],
    [
      "read machines of another region",
      request("ec2:DescribeInstances", "*", { "aws:RequestedRegion": "eu-west-1" }),
      false,
    ],
    ["use an image", request("ec2:RunInstances", "arn:aws:ec2:us-west-2::image/ami-1"), true],
    ["use a subnet", request("ec2:RunInstances", ec2("subnet")), true],
    [
      "read a parameter of the account's own",
      request("ssm:GetParameter", `arn:aws:ssm:us-west-2:${ACCOUNT_ID}:parameter/password`),
      false,
    ],
    ["ask for prices", request("pricing:GetProducts", "*"), true],
    ["stop a machine that no cluster owns", request("ec2:TerminateInstances", ec2("instance")), false],
    [
      "stop a machine of its cluster that it did not start",
      request("ec2:TerminateInstances", ec2("instance"), { "aws:ResourceTag/kubernetes.io/cluster/valkey": "owned" }),
      false,
    ],
    [
      "give a machine any other tag",
      request("ec2:CreateTags", ec2("instance"), { ...carries(OWN), "aws:TagKeys": ["admin"] }),
      false,
    ],
    [
      "pass the role to another service",
      request("iam:PassRole", role(OWN), { "iam:PassedToService": "lambda.amazonaws.com" }),
      false,
    ],
    [
      "pass the system machines' role",
      request("iam:PassRole", `arn:aws:iam::${ACCOUNT_ID}:role/valkey-system-node`, {
        "iam:PassedToService": "ec2.amazonaws.com",
      }),
      false,
    ],
    ["remove a volume", request("ec2:DeleteVolume", ec2("volume"), carries(OWN)), false],
    ["write to its own queue", request("sqs:SendMessage", QUEUE), false],
    ["make a role", request("iam:CreateRole", role(OWN)), false],
  ])("may or may not %s", async (_what, request, allowed) => {
    expect(await decide(request)).toBe(allowed);
  });

  it("has the policies of which every recorded call is allowed, short enough for AWS", () => {
    expect(policies.map(({ policy }) => policy)).toEqual(karpenterPolicies(OWN, false).map(({ policy }) => policy));
    for (const { policy } of policies) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
  });
});

describe("Karpenter's controller, where load generators are spot machines", () => {
  it("has the policies by which it may ask for them, and else not", async () => {
    const { EksPlatform } = await import("../../../../components/eks/platform.js");
    const args = platformArgs();
    const clients = { ...POOL_DEFAULTS.clients, capacity: "spot" as const };
    const withSpot = declaredPolicies(
      await declare(() => new EksPlatform("valkey", { ...args, pools: { ...args.pools, clients } })),
    );
    expect(withSpot.map(({ policy }) => policy)).toEqual(karpenterPolicies(OWN).map(({ policy }) => policy));
    for (const { policy } of withSpot) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
  }, 60_000);
});

describe("the interruption queue", () => {
  const sends = (rule: string, secure = "true"): Promise<boolean> =>
    isAllowed(
      request("sqs:SendMessage", QUEUE, {
        "aws:SourceArn": `arn:aws:events:us-west-2:${ACCOUNT_ID}:rule/${rule}`,
        "aws:SecureTransport": secure,
      }),
      "events.amazonaws.com",
      [],
      queue.policy,
    );

  it("takes messages of its own rules, and of no other's, and none without TLS", async () => {
    for (const { inputs } of program.ofType("aws:cloudwatch/eventRule:EventRule"))
      expect(await sends(String(inputs["name"]))).toBe(true);
    expect(await sends("orders-rebalance")).toBe(false);
    expect(await sends("valkey-rebalance", "false")).toBe(false);
  });
});
