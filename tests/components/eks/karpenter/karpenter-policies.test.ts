import { beforeAll, describe, expect, it } from "vitest";
import type { PolicyDocument } from "../../../../components/eks/karpenter/karpenter-policies";
import { POOL_DEFAULTS } from "../../../../platforms/eks/pools/pools";
import type { NamedPolicy, PolicyRequest } from "../../../support/aws/policy-simulation";
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

type Request = PolicyRequest;

/** Decision that AWS would make, with every policy of the controller's role. */
function decide(
  request: Request,
  extra: { readonly principal?: string; readonly resourcePolicy?: PolicyDocument } = {},
): Promise<boolean> {
  return isAllowed(
    request,
    extra.principal ?? CONTROLLER,
    extra.principal === undefined ? policies : [],
    extra.resourcePolicy,
  );
}

const OWN = "valkey";
const FOREIGN = "orders";
const carries = (cluster: string): Record<string, string> => ({
  [`aws:ResourceTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:ResourceTag/karpenter.sh/nodepool": "servers",
});
const asksFor = (cluster: string): Record<string, string> => ({
  [`aws:RequestTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:RequestTag/eks:eks-cluster-name": cluster,
  "aws:RequestTag/karpenter.sh/nodepool": "servers",
});
const profileCarries = (cluster: string): Record<string, string> => ({
  [`aws:ResourceTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:ResourceTag/topology.kubernetes.io/region": "us-west-2",
  "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "servers",
});
const profileAsksFor = (cluster: string): Record<string, string> => ({
  [`aws:RequestTag/kubernetes.io/cluster/${cluster}`]: "owned",
  "aws:RequestTag/eks:eks-cluster-name": cluster,
  "aws:RequestTag/topology.kubernetes.io/region": "us-west-2",
  "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "servers",
});
const profile = `arn:aws:iam::${ACCOUNT_ID}:instance-profile/valkey_1`;
const role = (cluster: string): string => `arn:aws:iam::${ACCOUNT_ID}:role/${cluster}-karpenter-node`;

/** Calls of Karpenter, each for a cluster: its own is to be allowed, a foreign one's refused. */
const OPERATIONS: Readonly<Record<string, (cluster: string) => Request>> = {
  "start a machine": (cluster) => ({
    action: "ec2:RunInstances",
    resource: ec2("instance"),
    context: asksFor(cluster),
  }),
  "start a machine's volume": (cluster) => ({
    action: "ec2:RunInstances",
    resource: ec2("volume"),
    context: asksFor(cluster),
  }),
  "start a machine's interface": (cluster) => ({
    action: "ec2:RunInstances",
    resource: ec2("network-interface"),
    context: asksFor(cluster),
  }),
  "start a fleet": (cluster) => ({ action: "ec2:CreateFleet", resource: ec2("fleet"), context: asksFor(cluster) }),
  "start from a template": (cluster) => ({
    action: "ec2:RunInstances",
    resource: ec2("launch-template"),
    context: { ...carries(cluster) },
  }),
  "make a template": (cluster) => ({
    action: "ec2:CreateLaunchTemplate",
    resource: ec2("launch-template"),
    context: asksFor(cluster),
  }),
  "tag what it makes": (cluster) => ({
    action: "ec2:CreateTags",
    resource: ec2("instance"),
    context: { ...asksFor(cluster), "ec2:CreateAction": "RunInstances", "aws:TagKeys": ["Name"] },
  }),
  "name a machine of its own": (cluster) => ({
    action: "ec2:CreateTags",
    resource: ec2("instance"),
    context: {
      ...carries(cluster),
      "aws:RequestTag/eks:eks-cluster-name": cluster,
      "aws:TagKeys": ["Name", "karpenter.sh/nodeclaim"],
    },
  }),
  "stop a machine": (cluster) => ({
    action: "ec2:TerminateInstances",
    resource: ec2("instance"),
    context: carries(cluster),
  }),
  "remove a template": (cluster) => ({
    action: "ec2:DeleteLaunchTemplate",
    resource: ec2("launch-template"),
    context: carries(cluster),
  }),
  "pass the machines' role": (cluster) => ({
    action: "iam:PassRole",
    resource: role(cluster),
    context: { "iam:PassedToService": "ec2.amazonaws.com" },
  }),
  "make an instance profile": (cluster) => ({
    action: "iam:CreateInstanceProfile",
    resource: profile,
    context: profileAsksFor(cluster),
  }),
  "tag an instance profile": (cluster) => ({
    action: "iam:TagInstanceProfile",
    resource: profile,
    context: { ...profileCarries(cluster), ...profileAsksFor(cluster) },
  }),
  "give a profile its role": (cluster) => ({
    action: "iam:AddRoleToInstanceProfile",
    resource: profile,
    context: profileCarries(cluster),
  }),
  "take a profile's role": (cluster) => ({
    action: "iam:RemoveRoleFromInstanceProfile",
    resource: profile,
    context: profileCarries(cluster),
  }),
  "remove an instance profile": (cluster) => ({
    action: "iam:DeleteInstanceProfile",
    resource: profile,
    context: profileCarries(cluster),
  }),
  "ask for the cluster's address": (cluster) => ({
    action: "eks:DescribeCluster",
    resource: `arn:aws:eks:us-west-2:${ACCOUNT_ID}:cluster/${cluster}`,
  }),
  "read the queue": (cluster) => ({
    action: "sqs:ReceiveMessage",
    resource: `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:${cluster}`,
  }),
  "empty the queue": (cluster) => ({
    action: "sqs:DeleteMessage",
    resource: `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:${cluster}`,
  }),
};

describe("Karpenter's controller", () => {
  it.each(Object.keys(OPERATIONS))("may %s for its own cluster and not for a foreign one", async (what) => {
    const operation = OPERATIONS[what];
    if (operation === undefined) throw new Error(what);
    expect(await decide(operation(OWN)), "its own").toBe(true);
    expect(await decide(operation(FOREIGN)), "a foreign one's").toBe(false);
  });

  it.each<[string, Request, boolean]>([
    [
      "read machines of its region",
      { action: "ec2:DescribeInstances", resource: "*", context: { "aws:RequestedRegion": "us-west-2" } },
      true,
    ],
    [
      "read the status of machines (since 1.12)",
      { action: "ec2:DescribeInstanceStatus", resource: "*", context: { "aws:RequestedRegion": "us-west-2" } },
      true,
    ],
    [
      "read machines of another region",
      { action: "ec2:DescribeInstances", resource: "*", context: { "aws:RequestedRegion": "eu-west-1" } },
      false,
    ],
    ["use an image", { action: "ec2:RunInstances", resource: "arn:aws:ec2:us-west-2::image/ami-1" }, true],
    ["use a subnet", { action: "ec2:RunInstances", resource: ec2("subnet") }, true],
    [
      "read a parameter of the account's own",
      { action: "ssm:GetParameter", resource: `arn:aws:ssm:us-west-2:${ACCOUNT_ID}:parameter/password` },
      false,
    ],
    ["ask for prices", { action: "pricing:GetProducts", resource: "*" }, true],
    ["stop a machine that no cluster owns", { action: "ec2:TerminateInstances", resource: ec2("instance") }, false],
    [
      "stop a machine of its cluster that it did not start",
      {
        action: "ec2:TerminateInstances",
        resource: ec2("instance"),
        context: { "aws:ResourceTag/kubernetes.io/cluster/valkey": "owned" },
      },
      false,
    ],
    [
      "give a machine any other tag",
      { action: "ec2:CreateTags", resource: ec2("instance"), context: { ...carries(OWN), "aws:TagKeys": ["admin"] } },
      false,
    ],
    [
      "pass the role to another service",
      { action: "iam:PassRole", resource: role(OWN), context: { "iam:PassedToService": "lambda.amazonaws.com" } },
      false,
    ],
    [
      "pass the system machines' role",
      {
        action: "iam:PassRole",
        resource: `arn:aws:iam::${ACCOUNT_ID}:role/valkey-system-node`,
        context: { "iam:PassedToService": "ec2.amazonaws.com" },
      },
      false,
    ],
    ["remove a volume", { action: "ec2:DeleteVolume", resource: ec2("volume"), context: carries(OWN) }, false],
    [
      "write to its own queue",
      { action: "sqs:SendMessage", resource: `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:valkey` },
      false,
    ],
    ["make a role", { action: "iam:CreateRole", resource: role(OWN) }, false],
  ])("may or may not %s", async (_what, request, allowed) => {
    expect(await decide(request)).toBe(allowed);
  });

  it("has policies short enough for AWS", () => {
    for (const { policy } of policies) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
  });

  it("is trusted to its own cluster's pods only, by its service account", () => {
    const trust = JSON.parse(
      String(program.one("aws:iam/role:Role", "valkey-karpenter").inputs["assumeRolePolicy"]),
    ) as { Statement: unknown };
    expect(trust.Statement).toEqual([
      {
        Effect: "Allow",
        Principal: { Service: "pods.eks.amazonaws.com" },
        Action: ["sts:AssumeRole", "sts:TagSession"],
        Condition: {
          StringEquals: { "aws:RequestTag/eks-cluster-arn": `arn:aws:eks:us-west-2:${ACCOUNT_ID}:cluster/valkey` },
        },
      },
    ]);
    const association = program.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs;
    const chart = program.one("kubernetes:helm.sh/v4:Chart", "valkey-karpenter").inputs;
    expect(association).toMatchObject({
      clusterName: "valkey",
      namespace: chart["namespace"],
      serviceAccount: (chart["values"] as { serviceAccount: { name: string } }).serviceAccount.name,
    });
  });
});

describe("Karpenter's controller, where load generators are spot machines", () => {
  const request = (kind: string, cluster: string): Request => ({
    action: "ec2:RunInstances",
    resource: ec2(kind),
    context: asksFor(cluster),
  });
  const tagging = (kind: string, cluster: string): Request => ({
    action: "ec2:CreateTags",
    resource: ec2(kind),
    context: { ...asksFor(cluster), "ec2:CreateAction": "RunInstances", "aws:TagKeys": ["Name"] },
  });

  it("may ask for them and tag the requests for its own cluster only, and else not at all", async () => {
    const { EksPlatform } = await import("../../../../components/eks/platform.js");
    const args = platformArgs();
    const clients = { ...POOL_DEFAULTS.clients, capacity: "spot" as const };
    const withSpot = declaredPolicies(
      await declare(() => new EksPlatform("valkey", { ...args, pools: { ...args.pools, clients } })),
    );
    for (const make of [request, tagging]) {
      const kind = "spot-instances-request";
      expect(await isAllowed(make(kind, OWN), CONTROLLER, withSpot)).toBe(true);
      expect(await isAllowed(make(kind, FOREIGN), CONTROLLER, withSpot)).toBe(false);
      expect(await isAllowed(make(kind, OWN), CONTROLLER, policies)).toBe(false);
    }
    for (const { policy } of withSpot) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
  }, 60_000);
});

describe("the interruption queue", () => {
  const send = (rule: string): Request => ({
    action: "sqs:SendMessage",
    resource: `arn:aws:sqs:us-west-2:${ACCOUNT_ID}:valkey`,
    context: { "aws:SourceArn": `arn:aws:events:us-west-2:${ACCOUNT_ID}:rule/${rule}`, "aws:SecureTransport": "true" },
  });
  const bridge = "events.amazonaws.com";

  it("takes messages of its own rules, and of no other's, and none without TLS", async () => {
    for (const { inputs } of program.ofType("aws:cloudwatch/eventRule:EventRule"))
      expect(await decide(send(String(inputs["name"])), { principal: bridge, resourcePolicy: queue.policy })).toBe(
        true,
      );
    expect(await decide(send("orders-rebalance"), { principal: bridge, resourcePolicy: queue.policy })).toBe(false);
    const plain = send("valkey-rebalance");
    expect(
      await decide(
        { ...plain, context: { ...plain.context, "aws:SecureTransport": "false" } },
        { principal: bridge, resourcePolicy: queue.policy },
      ),
    ).toBe(false);
  });
});
