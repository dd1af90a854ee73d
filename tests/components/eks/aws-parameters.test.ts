/** Resources that the EKS platform registers, checked against AWS' own models of the calls that they lead to. */
import { beforeAll, describe, expect, it } from "vitest";
import type { EksPlatformArgs } from "../../../components/eks/platform-args";
import { MACHINE_TYPES } from "../../../platforms/eks/offers/machine-types";
import { clusterSchema, eksPlatformSchema } from "../../../stacks/config/schema/eks";
import { isOfAws, parameterProblems } from "../../support/aws/requests";
import { requestProblems, shapeOf } from "../../support/aws/shapes";
import { ACCOUNT_ID, declare, EKS_CLUSTER_NAME, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import type { ProgramRun } from "../../support/pulumi/pulumi-mocks";

/** The platform of "Valkey on EKS" with changes. */
async function platform(changes: Partial<EksPlatformArgs>): Promise<ProgramRun> {
  const { EksPlatform } = await import("../../../components/eks/platform.js");
  const args = platformArgs(VALKEY_ON_EKS_PLAN, changes);
  return declare(() => new EksPlatform(args.clusterName ?? EKS_CLUSTER_NAME, args));
}

const problemsOf = ({ resources }: ProgramRun): string[] =>
  resources.filter(({ type }) => isOfAws(type)).flatMap(parameterProblems);

describe("AWS' models have nothing against", () => {
  const longest = "a".repeat(38);
  it.each<[string, Partial<EksPlatformArgs>]>([
    [
      "the longest name with flow logs, NAT in every zone and tags",
      {
        clusterName: longest,
        network: { nat: "perZone", flowLogs: true },
        tags: { team: "valkey", "cost/centre": "a b" },
      },
    ],
    [
      "a network and a key that exist, deletion protection and access for others",
      {
        clusterName: longest,
        existingNetwork: { vpcId: "vpc-1", privateSubnetIds: ["subnet-1", "subnet-2", "subnet-3"] },
        keyArn: `arn:aws:kms:us-west-2:${ACCOUNT_ID}:key/1`,
        deletionProtection: true,
        access: {
          team: { principalArn: `arn:aws:iam::${ACCOUNT_ID}:role/team`, rights: "view" },
          owner: { principalArn: `arn:aws:iam::${ACCOUNT_ID}:user/owner`, rights: "admin" },
        },
      },
    ],
  ])("%s", async (_what, changes) => {
    expect(problemsOf(await platform(changes))).toEqual([]);
  });

  it("the retentions of logs that the configuration allows", () => {
    const values = clusterSchema.shape.logRetentionInDays.unwrap().values;
    expect(values.size).toBeGreaterThan(5);
    for (const retentionInDays of values)
      expect(requestProblems("logs.PutRetentionPolicy", { logGroupName: "a", retentionInDays })).toEqual([]);
  });

  const tagged = (tags: object): string[] =>
    parameterProblems({ type: "pulumi:providers:aws", name: "aws", inputs: { defaultTags: { tags } } });
  const admitted = (tags: object): boolean => eksPlatformSchema.safeParse({ type: "eks", tags }).success;

  it.each([{ team: "valkey" }, { "cost/centre:1": "É 100+" }, { "a b": "" }])(
    "the tags %j, which the configuration admits",
    (tags) => {
      expect([tagged(tags), admitted(tags)]).toEqual([[], true]);
    },
  );

  it.each([{ "aws:team": "valkey" }, { "a;b": "c" }, { a: "100 %" }, { ["a".repeat(128)]: "b" }])(
    "the configuration, which refuses the tags %j as they do",
    (tags) => {
      expect(tagged(tags).length).toBeGreaterThan(0);
      expect(admitted(tags)).toBe(false);
    },
  );

  it("the machine types of the table, which EC2 has", () => {
    const known = new Set(shapeOf("ec2", "InstanceType").enum);
    expect(MACHINE_TYPES.filter((type) => !known.has(type))).toEqual([]);
  });
});

describe("AWS' models find", () => {
  it("a retention of logs that there is not", async () => {
    expect(problemsOf(await platform({ logRetentionInDays: 8 }))).toEqual([
      expect.stringMatching(
        /LogGroup valkey-control-plane: logs.PutRetentionPolicy.retentionInDays: 8 is none of 1, 3,/,
      ),
    ]);
  });

  it("a name of 65 characters", async () => {
    const clusterName = "a".repeat(65 - "-karpenter-node".length);
    expect(problemsOf(await platform({ clusterName }))).toContain(
      `aws:iam/role:Role ${clusterName}-karpenter-node: iam.CreateRole.RoleName: 65 characters, at most 64`,
    );
  });

  let program: ProgramRun;
  beforeAll(async () => {
    program = await platform({});
  }, 60_000);

  const NODES = "aws:eks/nodeGroup:NodeGroup";
  it.each<[string, string, object, RegExp]>([
    ["a wrong enum", NODES, { amiType: "AL2023_ARM" }, /amiType: "AL2023_ARM" is none of /],
    ["a wrong enum in a list", NODES, { taints: [{ effect: "NoSchedule" }] }, /taints.0.effect: "NoSchedule" is none/],
    ["a number too small", NODES, { scalingConfig: { minSize: -1 } }, /minSize: -1, at least 0/],
    ["a wrong type", NODES, { updateConfig: { maxUnavailable: "1" } }, /maxUnavailable: "1" is no integer/],
    ["a name that does not match", "aws:iam/policy:Policy", { name: "a b" }, /PolicyName: "a b" does not match/],
    ["a missing parameter", "aws:eks/addon:Addon", { clusterName: undefined }, /CreateAddon.clusterName: is missing/],
    ["a tag of AWS' own", "aws:ec2/vpcEndpoint:VpcEndpoint", { tags: { "aws:a": "b" } }, /Tags.0.Key: "aws:a" does/],
    ["a key kept too short", "aws:kms/key:Key", { deletionWindowInDays: 3 }, /PendingWindowInDays: 3, at least 7/],
    ["an attribute that no queue has", "aws:sqs/queue:Queue", { fifo: true }, /fifo: the input has no rule/],
    ["an input inside of one", NODES, { scalingConfig: { size: 1 } }, /scalingConfig.size: there is no such member/],
  ])("%s", (_what, type, inputs, problem) => {
    const [one] = program.ofType(type);
    if (one === undefined) throw new Error(type);
    expect(parameterProblems(one)).toEqual([]);
    expect(parameterProblems({ ...one, inputs: { ...one.inputs, ...inputs } })).toEqual([
      expect.stringMatching(problem),
    ]);
  });

  it("a type without rules", () => {
    expect(parameterProblems({ type: "aws:s3/bucketObjectv2:BucketObjectv2", name: "a", inputs: {} })).toEqual([
      "aws:s3/bucketObjectv2:BucketObjectv2 a: the type has no rules in pulumi-inputs.ts",
    ]);
  });
});
