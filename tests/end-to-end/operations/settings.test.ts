/** Settings of real servers by the handler that an update calls, where not every server runs. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { type SettingsInputs, handler } from "../../../operations/handlers/deployment/settings";
import { memory as maxmemory } from "../../../operations/handlers/deployment/rollout";
import type { Deployment } from "../../../valkey/deployment";
import { parseFlatReply } from "../../../valkey/topology/replies";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const NOTHING = { pending: false, drift: [] };

const sandbox = useSandbox();
let deployment: Deployment;
let api: FakeApiServer;
let target: KubernetesReference;
beforeAll(async () => {
  deployment = await sandbox.formedReplication("changing", SHAPE.replicasPerPrimary);
});
beforeEach(async () => {
  api = await FakeApiServer.start();
  target = api.serve(deployment, SHAPE);
});
afterEach(() => {
  api.stop();
});

const inputs = (directives: Record<string, string> = {}): SettingsInputs => ({
  target: { ...target, directives: { ...target.directives, ...directives } },
  password: deployment.access.password ?? "",
  // Pods that do not run are waited for that long.
  timeoutSeconds: 1,
});
const update = (directives: Record<string, string>): Promise<unknown> | undefined =>
  handler.update?.("changing", { ...inputs(), ...NOTHING }, inputs(directives), HANDLER_CONTEXT);
const valueOf = (index: number, name: string): Promise<string | undefined> =>
  withNode(deployment, index, async (node) => parseFlatReply(await node.config("GET", name)).get(name));

describe("settings of servers that do not all run", () => {
  it("are set on those that run, and set again when the others run", async () => {
    api.stopContainer("changing-1");
    expect(await update({ hz: "50" })).toEqual({ pending: true, drift: [] });
    expect([await valueOf(0, "hz"), await valueOf(1, "hz")]).toEqual(["50", "10"]);
    target = api.serve(deployment, SHAPE);
    const pending = { ...inputs({ hz: "50" }), pending: true, drift: [] };
    expect(handler.drifted?.(pending)).toBe(true);
    expect(await handler.update?.("changing", pending, inputs({ hz: "50" }), HANDLER_CONTEXT)).toEqual(NOTHING);
    expect([await valueOf(0, "hz"), await valueOf(1, "hz")]).toEqual(["50", "50"]);
  });

  it("are left to the start where no server runs", async () => {
    for (const pod of ["changing-0", "changing-1"]) api.stopContainer(pod);
    expect(await update({ hz: "20" })).toEqual({ pending: true, drift: [] });
    api.deleteSet("changing");
    expect(await update({ appendonly: "yes" })).toEqual({ pending: true, drift: [] });
  });

  it.each([["changing-1"], ["changing-0", "changing-1"]])(
    "do not decide which of its files a server reads: refused without %s %s",
    async (...pods) => {
      for (const pod of pods) api.stopContainer(pod);
      await expect(update({ appendonly: "yes" })).rejects.toThrow(
        /^changing: appendonly can change only while every server runs: .* Nothing has changed\. .*run/,
      );
      expect([await valueOf(0, "appendonly"), await valueOf(1, "appendonly")]).toEqual(["no", "no"]);
    },
  );

  it("fail the update where a server runs and cannot be told", async () => {
    const unreachable = { ...target, port: 1, kubeconfig: api.kubeconfig };
    api.stop();
    target = unreachable;
    await expect(update({ hz: "30" })).rejects.toThrow(/cannot be reached/);
  });
});

describe("a higher maxmemory", () => {
  const GI = 2 ** 30;
  const few = { maxmemory: String(5 * GI), "maxmemory-policy": "allkeys-lru" };
  const many = { maxmemory: String(12 * GI), "maxmemory-policy": "noeviction" };
  const request = (directives: Record<string, string>, memoryLimit: string): SettingsInputs => ({
    ...inputs(directives),
    memoryLimit,
  });
  const change = (olds: SettingsInputs, news: SettingsInputs): Promise<unknown> | undefined =>
    handler.update?.("changing", { ...olds, ...NOTHING }, news, HANDLER_CONTEXT);
  const raise = (directives: Record<string, string>): Promise<unknown> => {
    return maxmemory.create({ ...inputs(directives), memoryLimit: "16Gi" }, HANDLER_CONTEXT);
  };
  const found = async (): Promise<unknown> => ({
    maxmemory: [await valueOf(0, "maxmemory"), await valueOf(1, "maxmemory")],
    policy: [await valueOf(0, "maxmemory-policy"), await valueOf(1, "maxmemory-policy")],
  });

  it("waits, with its policy, until the pods that run have the memory for it", async () => {
    for (const pod of ["changing-0", "changing-1"]) api.limitMemory(pod, "8Gi");
    await change(inputs(), request(few, "8Gi"));
    // One pod was replaced already when the update was interrupted; what else changes does not wait.
    api.limitMemory("changing-1", "16Gi");
    await change(request(few, "8Gi"), request({ ...many, hz: "60" }, "16Gi"));
    expect(await found()).toEqual({
      maxmemory: [few.maxmemory, many.maxmemory],
      policy: ["allkeys-lru", "noeviction"],
    });
    expect(await valueOf(0, "hz")).toBe("60");
    // What a refresh found to differ is set by the same rule.
    await handler.update?.(
      "changing",
      { ...request(many, "16Gi"), pending: false, drift: ["changing-0: maxmemory differs"] },
      request(many, "16Gi"),
      HANDLER_CONTEXT,
    );
    expect(await valueOf(0, "maxmemory")).toBe(few.maxmemory);

    api.limitMemory("changing-0", "16Gi");
    await raise(many);
    expect(await found()).toEqual({
      maxmemory: [many.maxmemory, many.maxmemory],
      policy: ["noeviction", "noeviction"],
    });
  });

  it("falls on every node before the pods lose their memory, also when the change is taken back half-way", async () => {
    for (const pod of ["changing-0", "changing-1"]) api.limitMemory(pod, "16Gi");
    await raise(many);
    api.limitMemory("changing-0", "8Gi");
    await change(request(many, "16Gi"), request(few, "8Gi"));
    expect(await found()).toEqual({
      maxmemory: [few.maxmemory, few.maxmemory],
      policy: ["allkeys-lru", "allkeys-lru"],
    });
  });

  it("is none where the limit stays or there is none: it is set at once; no maxmemory is the highest", async () => {
    api.limitMemory("changing-0", "16Gi");
    await change(request(few, "16Gi"), request(many, "16Gi"));
    expect(await valueOf(1, "maxmemory")).toBe(many.maxmemory);
    for (const pod of ["changing-0", "changing-1"]) api.limitMemory(pod, "8Gi");
    await change(request(many, "8Gi"), request({}, "16Gi"));
    expect(await valueOf(0, "maxmemory")).toBe(many.maxmemory);
    api.limitMemory("changing-0", "16Gi");
    api.limitMemory("changing-1", "16Gi");
    await raise({});
    expect([await valueOf(0, "maxmemory"), await valueOf(1, "maxmemory")]).toEqual(["0", "0"]);
  });

  it("is announced as what waits for the pods", () => {
    const said = handler.describeChange?.(
      request(few, "8Gi"),
      request({ ...few, maxmemory: many.maxmemory, hz: "50" }, "16Gi"),
    );
    expect(said).toEqual([
      "hz 50: set on 2 running nodes within seconds; no restart, no effect on clients",
      `maxmemory ${many.maxmemory}: set on 2 nodes when their pods have the new memory limit`,
    ]);
    expect(handler.describeChange?.(request(many, "16Gi"), request(few, "8Gi"))).toEqual([
      expect.stringMatching(
        /^maxmemory 5368709120, maxmemory-policy allkeys-lru: set on 2 running nodes within seconds/,
      ),
    ]);
  });
});
