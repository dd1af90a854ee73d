/** Whether a verification sees that data of the last one is gone, by itself and in updates: real servers. */
import { afterEach, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { resourceType } from "../../../provider/kinds";
import { ValkeyProvider } from "../../../provider/valkey-provider";
import { form } from "../../../valkey/formation/form";
import type { ServerSettings } from "../../../valkey/settings/settings";
import type { Shape } from "../../../valkey/topology/placement";
import type { SeenData } from "../../../valkey/verification/kept-data";
import { seenData, withKeptData } from "../../../valkey/verification/kept-data";
import type { Verification } from "../../../valkey/verification/verify";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { eventually, never, Sandbox, withNode } from "../../support/valkey/real";

const NAME = "kept";
const LOST = /has started without the \d+ keys that the last verification saw, and no other server had them/;
const SETTLING = { settlingMs: 30_000 };

let sandbox: Sandbox | undefined;
afterEach(async () => {
  await sandbox?.close();
});

interface Opened {
  readonly sandbox: Sandbox;
  readonly deployment: Deployment;
  readonly shape: Shape;
}

async function open(shape: Shape, settings: ServerSettings): Promise<Opened> {
  const opened = await Sandbox.open();
  sandbox = opened;
  const all = { "repl-diskless-sync-delay": 0, ...settings };
  const deployment =
    shape.primaries === 1
      ? await opened.replication(NAME, shape.replicasPerPrimary, all)
      : await opened.cluster(NAME, shape.primaries, shape.replicasPerPrimary, { "cluster-node-timeout": 1500, ...all });
  await form(deployment, shape);
  return { sandbox: opened, deployment, shape };
}

const settled = (deployment: Deployment): Promise<Verification> => verifyUntilPass(deployment, SETTLING);

/** A verification of a deployment that gets some writes first, which all replicas have. */
async function seeWrites(deployment: Deployment): Promise<SeenData> {
  for (const [index] of deployment.nodes.entries())
    await withNode(deployment, index, async (connection) => {
      // Some of them are not of the shard.
      for (let each = 0; each < 50; each++) await connection.set(`key:${each}`, "x").catch(() => undefined);
      await connection.wait(1, 5000).catch(() => undefined);
    });
  return seenData(await settled(deployment));
}

const keptRow = async (deployment: Deployment, former: SeenData): Promise<unknown> => {
  const { verdict } = withKeptData(await settled(deployment), former);
  const { pass, found } = verdict.assertions.find(({ id }) => id === "data-kept") ?? {};
  expect(verdict.pass).toBe(pass);
  return pass === true ? "kept" : found;
};

async function killAll({ sandbox, deployment, shape }: Opened): Promise<void> {
  const names = deployment.nodes.map(({ name }) => name);
  await sandbox.host.signal(NAME, names, "SIGKILL");
  await sandbox.host.restart(NAME, names, { newAddresses: false }, never);
  await form(deployment, shape);
}

const REPLICATION = { primaries: 1, replicasPerPrimary: 1 };
const CLUSTER = { primaries: 3, replicasPerPrimary: 1 };

/** Has the replicas of all shards take over. */
async function failOver(deployment: Deployment): Promise<void> {
  const { verdict } = await settled(deployment);
  const successors = verdict.shards.flatMap(({ replicas }) => replicas);
  await eventually("all of them are primaries", async () => {
    const { shards } = (await settled(deployment)).verdict;
    const waiting = shards.flatMap(({ replicas }) => replicas).filter((name) => successors.includes(name));
    // A busy machine may let the time for one pass.
    for (const [index, { name }] of deployment.nodes.entries())
      if (waiting.includes(name))
        await withNode(deployment, index, (connection) => connection.call("CLUSTER", "FAILOVER"));
    return waiting.length === 0;
  });
}

it("holds while primaries change twice, and for servers that read their append-only files", async () => {
  const opened = await open(CLUSTER, { appendonly: true });
  const { deployment } = opened;
  const former = await seeWrites(deployment);
  await failOver(deployment);
  expect(await keptRow(deployment, former)).toBe("kept");
  await failOver(deployment);
  expect(await keptRow(deployment, former)).toBe("kept");
  await killAll(opened);
  expect(await keptRow(deployment, former)).toBe("kept");
});

it("fails once all servers have started without their data, and holds again from what is there", async () => {
  const opened = await open(CLUSTER, {});
  const { deployment } = opened;
  const former = await seeWrites(deployment);
  await killAll(opened);
  const row = await keptRow(deployment, former);
  expect(row).toMatch(LOST);
  expect(await keptRow(deployment, await seeWrites(deployment))).toBe("kept");
});

it("fails where another server has taken over since the loss", async () => {
  const opened = await open(CLUSTER, {});
  const { deployment } = opened;
  await seeWrites(deployment);
  const former = await seeWrites(deployment);
  await killAll(opened);
  // Copied by the server that takes over.
  for (const [index] of deployment.nodes.entries())
    await withNode(deployment, index, async (connection) => {
      for (const key of ["new:1", "new:2", "new:3"]) await connection.set(key, "x").catch(() => undefined);
    });
  await failOver(deployment);
  expect(await keptRow(deployment, former)).toMatch(
    /all servers have started since the last verification, without some of the \d+ keys that it saw/,
  );
});

it("holds where clients have deleted all keys, and servers restart in turn", async () => {
  const opened = await open(REPLICATION, {});
  const { deployment, sandbox: here } = opened;
  const former = await seeWrites(deployment);
  await withNode(deployment, 0, (connection) => connection.call("FLUSHALL"));
  for (const [from, to] of [
    [0, 1],
    [1, 0],
  ] as const) {
    await withNode(deployment, from, async (connection) => {
      await connection.wait(1, 5000);
      await connection.call("FAILOVER");
    });
    await eventually("the other one is the primary", () =>
      withNode(deployment, to, async (connection) => (await connection.role())[0] === "master"),
    );
    const { name } = deployment.nodes[from] ?? { name: "" };
    await here.host.signal(NAME, [name], "SIGKILL");
    await here.host.restart(NAME, [name], { newAddresses: false }, never);
    const { host, port } = deployment.nodes[to]?.endpoint ?? { host: "", port: 0 };
    await withNode(deployment, from, (connection) => connection.call("REPLICAOF", host, String(port)));
    await settled(deployment);
  }
  expect(await keptRow(deployment, former)).toBe("kept");
});

it("fails for servers that have started from an older snapshot", async () => {
  const opened = await open(REPLICATION, { save: "3600 100000" });
  const { deployment } = opened;
  await seeWrites(deployment);
  await withNode(deployment, 0, (connection) => connection.save());
  const saved = await settled(deployment);
  const former = await seeWrites(deployment);
  await killAll(opened);
  expect(await keptRow(deployment, former)).toMatch(
    /has started from an older copy, which ends at byte \d+ of the replication stream; the last verification saw byte \d+/,
  );
  expect(await keptRow(deployment, seenData(saved))).toBe("kept");
});

it("fails one update, after which the next one compares with what is there", async () => {
  const opened = await open(CLUSTER, {});
  const { deployment, shape } = opened;
  const api = await FakeApiServer.start();
  try {
    const target = api.serve(deployment, shape);
    const provider = new ValkeyProvider("1.2.3", undefined, () => undefined);
    const urn = `urn:pulumi:stack::project::${resourceType("DeploymentVerification")}::${NAME}`;
    const password = deployment.access.password ?? "";
    const inputs = { target, password, formationMs: null, revision: null, timeoutSeconds: 30, trigger: 0 };
    await seeWrites(deployment);
    const verified = (await provider.create(urn, inputs)).outs as Record<string, unknown>;
    await killAll(opened);
    const refreshed = (await provider.read(NAME, urn, verified)).props as Record<string, unknown>;
    expect(refreshed).toMatchObject({ drift: [expect.stringMatching(/^data-kept: /)] });
    const failed: unknown = await provider.update(NAME, urn, refreshed, inputs).catch((error: unknown) => error);
    expect(String(failed)).toMatch(LOST);
    const { properties } = failed as { readonly properties: Record<string, unknown> };
    expect((await provider.diff(NAME, urn, properties, inputs)).changes).toBe(true);
    expect((await provider.update(NAME, urn, properties, inputs)).outs).toMatchObject({
      topology: { verdict: { pass: true } },
      drift: [],
    });
  } finally {
    api.stop();
  }
});
