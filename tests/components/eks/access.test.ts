import { beforeAll, describe, expect, it } from "vitest";
import { declare, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import type { ProgramRun } from "../../support/pulumi/pulumi-mocks";

const ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole";
const BINDING = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding";
const arn = (who: string): string => `arn:aws:iam::123456789012:role/${who}`;

describe("access to a cluster", () => {
  let program: ProgramRun;
  beforeAll(async () => {
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const access = {
      team: { principalArn: arn("team"), rights: "view" },
      oncall: { principalArn: arn("oncall"), rights: "admin" },
    } as const;
    program = await declare(() => new EksPlatform("valkey", platformArgs(VALKEY_ON_EKS_PLAN, { access })));
  }, 120_000);

  it("to view is EKS' policy without secrets, and a group for what lies in no namespace", () => {
    const scope = { type: "cluster" };
    const policyArn = (name: string): string => `arn:aws:eks::aws:cluster-access-policy/${name}`;
    expect(program.one("eks:index:Cluster").inputs["accessEntries"]).toEqual({
      team: {
        principalArn: arn("team"),
        kubernetesGroups: ["valkey-measured:viewers"],
        accessPolicies: { view: { policyArn: policyArn("AmazonEKSViewPolicy"), accessScope: scope } },
      },
      oncall: {
        principalArn: arn("oncall"),
        accessPolicies: { admin: { policyArn: policyArn("AmazonEKSClusterAdminPolicy"), accessScope: scope } },
      },
    });
  });

  it("binds that group to a role that writes nothing, reads no secret and runs nothing", () => {
    const role = program.one(ROLE).inputs as unknown as {
      readonly metadata: { readonly name: string };
      readonly rules: readonly {
        readonly apiGroups: string[];
        readonly resources: string[];
        readonly verbs: string[];
      }[];
    };
    expect(program.one(BINDING).inputs).toMatchObject({
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role.metadata.name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "valkey-measured:viewers" }],
    });
    const resources = role.rules.flatMap(({ apiGroups, resources: all }) =>
      apiGroups.flatMap((group) => all.map((resource) => (group === "" ? resource : `${resource}.${group}`))),
    );
    expect(resources).toEqual(
      expect.arrayContaining([
        "nodes",
        "persistentvolumes",
        "storageclasses.storage.k8s.io",
        "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
        "ec2nodeclasses.karpenter.k8s.aws",
        "customresourcedefinitions.apiextensions.k8s.io",
        "nodes.metrics.k8s.io",
      ]),
    );
    // A star would include secrets, and a subresource such as nodes/proxy or pods/exec runs commands.
    for (const resource of resources) expect(resource).not.toMatch(/secret|\*|\//);
    for (const { apiGroups } of role.rules) expect(apiGroups).not.toContain("*");
    expect(new Set(role.rules.flatMap(({ verbs }) => verbs))).toEqual(new Set(["get", "list", "watch"]));
  });

  it("needs no role where everyone is an administrator", async () => {
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const administrators = await declare(() => new EksPlatform("valkey", platformArgs()));
    expect(administrators.ofType(ROLE)).toEqual([]);
  });
});
