import { describe, expect, it } from "vitest";
import { describePlan } from "../../../stacks/plan/describe";
import { runnerPlan } from "../../../stacks/plan/pod-settings";
import { planStack } from "../../../stacks/plan/stack-plan";
import { deployOnKubernetes } from "../../../stacks/program/platforms/kubernetes";
import { type DeclaredResource, evaluateProgram } from "../../support/pulumi/pulumi-mocks";
import { configOf } from "../../support/stack-config";

const config = configOf("kind");

describe("the stack kind under mocks", () => {
  it("creates no namespace with `createNamespace: false`, and takes over no objects of others", async () => {
    const { platform } = config;
    if (platform.type !== "kubernetes") throw new Error("kind is no stack for Kubernetes");
    const storage = { ...platform.storage, onDestroy: "keep" } as const;
    const shared = { ...platform, namespace: "shop", createNamespace: false, storage };
    const resources = await evaluateProgram(() => deployOnKubernetes("kind", shared, config));
    const inputs = (type: string): DeclaredResource["inputs"][] =>
      resources.filter((each) => each.type === type).map((each) => each.inputs);
    expect(inputs("kubernetes:core/v1:Namespace")).toEqual([]);
    expect(inputs("pulumi:providers:kubernetes")).toMatchObject([{ upsertExistingObjects: "false" }]);
    expect(inputs("valkey:index:ClusterCheck")).toMatchObject([
      { needs: { namespace: "shop", createsNamespace: false }, keepsNamespace: false },
    ]);
    for (const { metadata } of inputs("kubernetes:apps/v1:StatefulSet") as { metadata: { namespace: string } }[])
      expect(metadata.namespace).toBe("shop");
  });

  it("gives pull secrets to servers and load generators", async () => {
    const { platform } = config;
    if (platform.type !== "kubernetes") throw new Error("kind is no stack for Kubernetes");
    const secret = { ...platform, imagePullSecrets: ["registry"] };
    const resources = await evaluateProgram(() => deployOnKubernetes("kind", secret, config));
    const sets = resources.filter(({ type }) => type === "kubernetes:apps/v1:StatefulSet");
    expect(sets.map(({ name }) => name).sort()).toEqual(["cluster", "replication"]);
    for (const { inputs } of sets)
      expect(inputs["spec"]).toMatchObject({ template: { spec: { imagePullSecrets: [{ name: "registry" }] } } });
    expect(runnerPlan(secret, 1, false).imagePullSecrets).toEqual(["registry"]);
  });

  it("has a controller for each deployment that asks for one", async () => {
    const { platform, deployments } = config;
    const { cluster } = deployments;
    if (platform.type !== "kubernetes" || cluster === undefined) throw new Error("kind is no stack for Kubernetes");
    const controller = {
      ...{ everySeconds: 10, repair: true, repairSettings: true, onLostMajority: "report" as const },
    };
    const asked = { ...config, deployments: { ...deployments, cluster: { ...cluster, controller } } };
    const resources = await evaluateProgram(() => deployOnKubernetes("kind", platform, asked));
    const controllers = resources.filter(({ type }) => type === "kubernetes:apps/v1:Deployment");
    expect(controllers.map(({ name }) => name)).toEqual(["cluster-controller"]);
    const settings = resources.find(
      ({ type, name }) => type === "kubernetes:core/v1:ConfigMapPatch" && name === "cluster-controller",
    )?.inputs as { readonly data: Readonly<Record<string, string>> };
    expect(JSON.parse(settings.data["settings.json"] ?? "")).toMatchObject({
      ...controller,
      target: { name: "cluster", lease: "cluster-controller" },
    });
  });

  it("is said in a preview: pods, zones, measurements", () => {
    const words = describePlan(planStack("kind", config));
    expect(words).toEqual(
      expect.arrayContaining([
        "replication: replication of 1 primary with 3 replicas, 4 pods in 3 zones: local-1a 2, local-1b 1, local-1c 1",
        "cluster: cluster of 3 primaries with 1 replica each, 6 pods in 3 zones: local-1a 2, local-1b 2, local-1c 2",
        "  cluster-0: slots 0-5460, replica cluster-4",
        "18 measurements of set, get, incr in 3 rounds, 2 s each, by 23 Jobs of 1 runner each; 48 clients on 1 thread, pipeline 16, values of 256 B, 98,304 keys",
      ]),
    );
  });
});
