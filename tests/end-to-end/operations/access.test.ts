/** Passwords of real servers by the handlers that an update calls: taken back, and given to pods that are not ready. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { copyName, MANAGER, OBJECT } from "../../../platforms/kubernetes/volumes/statefulset-copy";
import {
  type AccessInputs,
  type AccessOutputs,
  handler as access,
} from "../../../operations/handlers/deployment/access";
import {
  type PasswordRetirementInputs,
  handler as retirement,
} from "../../../operations/handlers/deployment/password-retirement";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { Sandbox } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const NEXT = "another password, as long";
const OVERLAP = "/api/v1/namespaces/valkey/secrets/guarded-password-overlap";

let sandbox: Sandbox;
let deployment: Deployment;
let api: FakeApiServer;
let target: KubernetesReference;
beforeEach(async () => {
  sandbox = await Sandbox.open();
  deployment = await sandbox.formedReplication("guarded", SHAPE.replicasPerPrimary);
  api = await FakeApiServer.start();
  target = api.serve(deployment, SHAPE);
});
afterEach(async () => {
  api.stop();
  await sandbox.close();
});

const first = (): string => deployment.access.password ?? "";
const inputs = (password: string): AccessInputs => ({
  ...{ target, password, users: {}, overlapSeconds: 90, timeoutSeconds: 5 },
});
const update = (olds: AccessInputs & AccessOutputs, password: string): Promise<AccessOutputs> | undefined =>
  access.update?.("guarded", olds, inputs(password), HANDLER_CONTEXT);
const state = (password: string, outputs: Partial<AccessOutputs> = {}): AccessInputs & AccessOutputs => ({
  ...inputs(password),
  ...{ changedAt: "", drift: [], ...outputs },
});

async function accepts(password: string): Promise<boolean[]> {
  const attempts = await Promise.allSettled(
    deployment.nodes.map(async ({ name, endpoint }) => {
      (await connect(name, endpoint, { password })).disconnect();
    }),
  );
  return attempts.map(({ status }) => status === "fulfilled");
}

describe("a password that is taken back while both are valid", () => {
  it("stays valid as long as pods and clients may still read it", async () => {
    const told = await update(state(first()), NEXT);
    const back = await update(state(NEXT, told), first());
    expect(back?.changedAt).not.toBe("");
    expect(api.objects.has(OVERLAP)).toBe(true);
    const retiring = (changedAt: string): PasswordRetirementInputs => ({
      ...{ target, password: first(), users: {}, changedAt, overlapSeconds: 1, timeoutSeconds: 5 },
    });
    let ended: Promise<unknown> | undefined;
    const firstLine = new Promise<string>((resolve) => {
      const context = { ...HANDLER_CONTEXT, report: resolve };
      ended = retirement.update?.("guarded", retiring(""), retiring(back?.changedAt ?? ""), context);
    });
    expect(await Promise.race([firstLine, ended?.then(() => "nothing was said")])).toBe(
      "guarded: the new password is valid, and the former password stays valid for 1 s",
    );
    expect(await accepts(NEXT)).toEqual([true, true]);
    await ended;
    expect(await accepts(NEXT)).toEqual([false, false]);
    expect(await accepts(first())).toEqual([true, true]);
    expect(api.objects.has(OVERLAP)).toBe(false);
  });

  it("is not waited for where no server accepts another one", async () => {
    const inputs = {
      target,
      password: first(),
      users: {},
      overlapSeconds: 3600,
      timeoutSeconds: 5,
    };
    const [olds, news] = ["", "later"].map((changedAt) => ({ ...inputs, changedAt })) as [
      PasswordRetirementInputs,
      PasswordRetirementInputs,
    ];
    expect(await retirement.update?.("guarded", olds, news, HANDLER_CONTEXT)).toEqual({});
  });
});

describe("servers that run and are not ready", () => {
  it("are told a new password, also while their StatefulSet is not made again yet", async () => {
    const path = "/apis/apps/v1/namespaces/valkey/statefulsets/guarded";
    const set = api.objects.get(path);
    api.deleteSet("guarded");
    await expect(update(state(first()), NEXT)).rejects.toThrow("has no StatefulSet of this name");
    expect(await accepts(NEXT)).toEqual([false, false]);
    api.objects.set(`/api/v1/namespaces/valkey/configmaps/${copyName("guarded")}`, {
      data: { [OBJECT]: JSON.stringify(set), [MANAGER]: "valkey" },
    });
    expect((await update(state(first()), NEXT))?.changedAt).not.toBe("");
    expect(await accepts(NEXT)).toEqual([true, true]);
  });

  it("fail the update where somebody changed their password by hand", async () => {
    await Promise.all(
      deployment.nodes.map(async (node) => {
        const connection = await deployment.connect(node);
        await connection.call("ACL", "SETUSER", "default", "resetpass", ">somebody's own password");
        connection.disconnect();
      }),
    );
    const drift = (await access.read?.("guarded", state(first()), HANDLER_CONTEXT))?.drift ?? [];
    expect(drift.join()).toContain("refuses the password");
    await expect(update(state(first(), { drift }), first())).rejects.toThrow(
      "somebody changed the password on the servers",
    );
  });

  it("read their users when they start, where none of them runs", async () => {
    for (const pod of ["guarded-0", "guarded-1"]) api.stopContainer(pod);
    expect(await update(state(first(), { changedAt: "before" }), NEXT)).toEqual({ changedAt: "before", drift: [] });
    expect(await accepts(NEXT)).toEqual([false, false]);
  });
});
