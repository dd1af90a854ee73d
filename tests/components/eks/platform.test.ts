import { beforeAll, describe, expect, it } from "vitest";
import { declare, platformArgs } from "../../support/pulumi/eks";
import type { DeclaredResource, ProgramRun } from "../../support/pulumi/pulumi-mocks";

let program: ProgramRun;
beforeAll(async () => {
  const { EksPlatform } = await import("../../../components/eks/platform.js");
  program = await declare(() => new EksPlatform("valkey", platformArgs()));
}, 120_000);

const NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool";
const NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass";
const CHART = "kubernetes:helm.sh/v4:Chart";

describe("Karpenter's credentials", () => {
  const one = (type: string, name?: string): DeclaredResource => program.one(type, name);
  const association = (): DeclaredResource =>
    one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "valkey-karpenter");
  /** Resources that take minutes, and those that the controller's pods wait for. */
  const slow = (): DeclaredResource[] => [
    one("aws:eks/nodeGroup:NodeGroup"),
    ...program.ofType("aws:eks/addon:Addon"),
    ...program.ofType("aws:ec2/launchTemplate:LaunchTemplate"),
  ];

  it("are made right after the control plane, while machines and add-ons take minutes, and the controller waits for both", () => {
    const rights = program
      .ofType("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
      .filter(({ name }) => /^valkey-karpenter-(?!node)/.test(name));
    expect(rights).toHaveLength(5);
    expect(program.isDeletedBefore(association(), one("eks:index:Cluster"))).toBe(true);
    for (const right of rights) expect(program.isDeletedBefore(association(), right), right.name).toBe(true);
    expect(slow().length).toBe(5);
    for (const each of slow()) {
      for (const early of [association(), ...rights])
        expect(program.isDeletedBefore(early, each), `${early.name} waits for ${each.name}`).toBe(false);
      expect(program.isDeletedBefore(one(CHART, "valkey-karpenter"), each), each.name).toBe(true);
    }
    expect(program.isDeletedBefore(one(CHART, "valkey-karpenter"), association())).toBe(true);
  });
});

describe("destroying", () => {
  it("removes pools before classes, both before the controller, it before its definitions and rights, and all before the cluster and its network", () => {
    const [controller, definitions] = [
      program.one(CHART, "valkey-karpenter"),
      program.one(CHART, "valkey-karpenter-crd"),
    ];
    const cluster = program.one("eks:index:Cluster");
    const rights = [
      "aws:eks/podIdentityAssociation:PodIdentityAssociation",
      "aws:eks/accessEntry:AccessEntry",
      "aws:sqs/queue:Queue",
      "aws:iam/policy:Policy",
      "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    ]
      .flatMap((type) => program.ofType(type))
      .filter(({ name }) => name.includes("karpenter") || name.includes("interruption"));
    expect(rights.length).toBeGreaterThan(10);
    for (const pool of ["servers", "clients"]) {
      const [own, ownClass] = [
        program.one(NODE_POOL, `valkey-${pool}`),
        program.one(NODE_CLASS, `valkey-${pool}-class`),
      ];
      const order = [own, ownClass, controller, ...rights];
      for (const [index, first] of order.entries())
        for (const second of index < 3 ? order.slice(index + 1) : [cluster])
          expect(program.isDeletedBefore(first, second), `${first.name} before ${second.name}`).toBe(true);
    }
    expect(program.isDeletedBefore(controller, definitions)).toBe(true);
    for (const last of ["awsx:ec2:Vpc", "aws:kms/key:Key", "aws:cloudwatch/logGroup:LogGroup"])
      expect(program.isDeletedBefore(cluster, program.one(last))).toBe(true);
  });
});
