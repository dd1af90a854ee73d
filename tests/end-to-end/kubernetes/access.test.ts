/**
 * Rights of a viewer of an EKS cluster, as a real API server answers. AmazonEKSViewPolicy is EKS' own: Kubernetes'
 * role `view`, which has the same resources, stands for it.
 */
import { KubeConfig, AuthorizationV1Api } from "@kubernetes/client-node";
import type { V1ResourceAttributes, V1SubjectAccessReview } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { declare, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";

const GROUP = "valkey-measured:viewers";
const RBAC = "rbac.authorization.k8s.io/v1";

describe.skipIf(KUBECONFIG === undefined)(`a viewer${WHERE}`, () => {
  let here: ThrowAway;
  let objects: KubernetesObject[] = [];
  let authorization: AuthorizationV1Api;

  beforeAll(async () => {
    here = await ThrowAway.at("default");
    const config = new KubeConfig();
    config.loadFromFile(KUBECONFIG ?? "");
    authorization = config.makeApiClient(AuthorizationV1Api);
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const access = { team: { principalArn: "arn:aws:iam::123456789012:role/team", rights: "view" } } as const;
    const program = await declare(() => new EksPlatform("valkey", platformArgs(VALKEY_ON_EKS_PLAN, { access })));
    const made = ["ClusterRole", "ClusterRoleBinding"].map((kind) => {
      const { inputs } = program.one(`kubernetes:${RBAC}:${kind}`);
      return { apiVersion: RBAC, kind, ...inputs } as unknown as KubernetesObject;
    });
    const policy = {
      apiVersion: RBAC,
      kind: "ClusterRoleBinding",
      metadata: { name: "valkey-test-view-policy" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: GROUP }],
    };
    objects = [...made, policy];
    await here.apply(objects);
  });
  afterAll(async () => {
    for (const object of [...objects].reverse()) await here.delete(object);
  });

  const may = async (verb: string, what: string): Promise<boolean> => {
    const [path = "", subresource] = what.split("/");
    const [resource = "", ...group] = path.split(".");
    const resourceAttributes: Plain<V1ResourceAttributes> = {
      verb,
      resource,
      group: group.join("."),
      namespace: "default",
      ...(subresource === undefined ? {} : { subresource }),
    };
    const body: Plain<V1SubjectAccessReview> = { spec: { user: "somebody", groups: [GROUP], resourceAttributes } };
    const review = await authorization.createSubjectAccessReview({ body });
    return review.status?.allowed === true;
  };

  it.each([
    "pods",
    "pods/log",
    "configmaps",
    "nodes",
    "persistentvolumes",
    "persistentvolumeclaims",
    "storageclasses.storage.k8s.io",
    "nodepools.karpenter.sh",
    "nodeclaims.karpenter.sh",
    "ec2nodeclasses.karpenter.k8s.aws",
    "customresourcedefinitions.apiextensions.k8s.io",
    "pods.metrics.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
  ])("reads %s", async (what) => {
    await here.until(20, async () => ((await may("list", what)) ? undefined : `${what} may not be read`));
  });

  it.each(["get", "list", "watch"])("may not %s secrets", async (verb) => {
    expect(await may(verb, "secrets")).toBe(false);
  });

  it.each([
    ["create", "pods"],
    ["create", "pods/exec"],
    ["create", "pods/portforward"],
    ["get", "pods/exec"],
    ["get", "nodes/proxy"],
    ["create", "nodes/proxy"],
    ["delete", "nodes"],
    ["patch", "nodepools.karpenter.sh"],
    ["delete", "nodeclaims.karpenter.sh"],
    ["create", "clusterrolebindings.rbac.authorization.k8s.io"],
    ["escalate", "clusterroles.rbac.authorization.k8s.io"],
    ["impersonate", "users"],
  ])("may not %s %s", async (verb, what) => {
    expect(await may(verb, what)).toBe(false);
  });
});
