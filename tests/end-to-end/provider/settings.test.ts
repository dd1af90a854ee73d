/** Settings of real servers by the handler that an update calls, where not every server runs. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { SettingsInputs } from "../../../provider/handlers/settings";
import { handler } from "../../../provider/handlers/settings";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseFlatReply } from "../../../valkey/topology/info";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { Sandbox, withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const NOTHING = { pending: false, drift: [] };

let sandbox: Sandbox;
let deployment: Deployment;
let api: FakeApiServer;
let target: KubernetesReference;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  deployment = await sandbox.replication("changing", SHAPE.replicasPerPrimary);
  await form(deployment, SHAPE);
});
beforeEach(async () => {
  api = await FakeApiServer.start();
  target = api.serve(deployment, SHAPE);
});
afterEach(() => {
  api.stop();
});
afterAll(() => sandbox.close());

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
        /^changing: appendonly can change only while every server runs .* Nothing has changed\. .*run/,
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

describe("settings of engines that take every change by a restart", () => {
  it("do not decide which of its files a server reads", async () => {
    const redis = { ...inputs(), engine: "redis" } as const;
    const check = (directives: Record<string, string>): Promise<unknown> | undefined =>
      handler.check?.(redis, { ...inputs(directives), engine: "redis" }, HANDLER_CONTEXT);
    expect(await check({ appendonly: "yes" })).toEqual([
      {
        property: "settings.appendonly",
        reason: expect.stringContaining("does not read the file that has its data") as string,
      },
    ]);
    expect(await check({ appendonly: "no", hz: "50" })).toEqual([]);
    expect(await handler.check?.(inputs(), inputs({ appendonly: "yes" }), HANDLER_CONTEXT)).toEqual([]);
    const news = { ...inputs({ hz: "50" }), engine: "redis" } as const;
    const requests = api.requests.length;
    expect(await handler.update?.("changing", { ...redis, ...NOTHING }, news, HANDLER_CONTEXT)).toEqual(NOTHING);
    expect(api.requests.length).toBe(requests);
  });
});
