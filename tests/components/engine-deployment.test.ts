/** Other engines to compare Valkey with: deployed and verified, and nothing more. */
import { describe, expect, it } from "vitest";
import type { EngineDeploymentArgs } from "../../components/engine-deployment";
import { EngineDeployment } from "../../components/engine-deployment";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../support/pulumi/pulumi-mocks";

const REDIS: EngineDeploymentArgs = {
  engine: "redis",
  image: "docker.io/library/redis:8.2.1",
  mode: "cluster",
  shape: { primaries: 3, replicasPerPrimary: 1 },
  zones: ["a", "b", "c"],
  settings: { save: "" },
};
const declare = (args: EngineDeploymentArgs): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => new EngineDeployment("other", args));
const ownTypes = (resources: readonly DeclaredResource[]): string[] =>
  resources.flatMap(({ type }) => /^valkey:index:(\w+)$/.exec(type)?.[1] ?? []).sort();

describe("EngineDeployment", () => {
  it("is servers that are rolled out, formed and verified, with a password that stays", async () => {
    const resources = await declare(REDIS);
    expect(ownTypes(resources)).toEqual([
      "DeploymentVerification",
      "EngineDeployment",
      "Formation",
      "Password",
      "Rollout",
    ]);
    expect(onlyResource(resources, "valkey:index:DeploymentVerification", "other").inputs["target"]).toMatchObject({
      mode: "cluster",
      service: "other.default.svc.cluster.local:6379",
    });
  });

  it("finds its primary by itself in replication mode", async () => {
    const args = { ...REDIS, mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 } } as const;
    expect(ownTypes(await declare(args))).not.toContain("Formation");
  });

  it.each<[string, Partial<EngineDeploymentArgs>, RegExp]>([
    ["Dragonfly as a cluster", { engine: "dragonfly", settings: {} }, /runs dragonfly without cluster mode/],
    ["an image without a tag", { image: "redis" }, /tag/],
    ["settings that the deployment decides", { settings: { port: 1 } }, /settings\.port/],
  ])("refuses %s", async (_what, args, message) => {
    await expect(declare({ ...REDIS, ...args })).rejects.toThrow(message);
  });
});
