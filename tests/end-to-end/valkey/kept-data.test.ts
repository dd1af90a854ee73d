/** Whether a verification sees that data of the last one is gone, by itself and in updates: real servers. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { resourceType } from "../../../operations/provider/kinds";
import { ValkeyProvider } from "../../../operations/provider/valkey-provider";
import { form } from "../../../valkey/formation/form";
import type { SeenData } from "../../../valkey/verification/facts";
import { seenData } from "../../../valkey/verification/kept-data";
import { type Verification, verifyUntilPass, withKeptData } from "../../../valkey/verification/verify";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, never, withNode } from "../../support/valkey/real";

const UNKNOWN = /^\S+: \d+ of the \d+ keys that the last verification saw are gone, and it cannot be said why/;
const LOST = /has started without the \d+ keys that the last verification saw, and no other server had them/;
const REPLICATION = { primaries: 1, replicasPerPrimary: 1 };
const CLUSTER = { primaries: 3, replicasPerPrimary: 1 };
const sandbox = useSandbox();

const settled = (deployment: Deployment): Promise<Verification> => verifyUntilPass(deployment, { settlingMs: 30_000 });

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

async function killAll(deployment: Deployment): Promise<void> {
  const names = deployment.nodes.map((node) => node.name);
  await sandbox.host.signal(deployment.name, names, "SIGKILL");
  await sandbox.host.restart(deployment.name, names, { newAddresses: false }, never);
  await form(deployment, deployment.mode === "cluster" ? CLUSTER : REPLICATION);
}

async function failOver(deployment: Deployment): Promise<void> {
  const { verdict } = await settled(deployment);
  const successors = verdict.shards.flatMap(({ replicas }) => replicas);
  await eventually("all of them are primaries", async () => {
    const { shards } = (await settled(deployment)).verdict;
    const waiting = shards.flatMap(({ replicas }) => replicas).filter((name) => successors.includes(name));
    // A busy machine may let the time for one pass.
    for (const [index, { name }] of deployment.nodes.entries())
      if (waiting.includes(name)) await callNode(deployment, index, "CLUSTER", "FAILOVER");
    return waiting.length === 0;
  });
}

it("holds while primaries change twice, and for servers that read their append-only files", async () => {
  const deployment = await sandbox.formedCluster("kept", 3, 1, { "cluster-node-timeout": 1500, appendonly: true });
  const former = await seeWrites(deployment);
  await failOver(deployment);
  expect(await keptRow(deployment, former)).toBe("kept");
  await failOver(deployment);
  expect(await keptRow(deployment, former)).toBe("kept");
  await killAll(deployment);
  expect(await keptRow(deployment, former)).toBe("kept");
});

it("holds where servers restart in turn and have counted deletions since, and else cannot say it", async () => {
  const deployment = await sandbox.formedReplication("pair", 1);
  const former = await seeWrites(deployment);
  await callNode(deployment, 0, "FLUSHALL");
  expect(await keptRow(deployment, former)).toBe("kept");
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
    await sandbox.host.signal(deployment.name, [name], "SIGKILL");
    await sandbox.host.restart(deployment.name, [name], { newAddresses: false }, never);
    const { host, port } = deployment.nodes[to]?.endpoint ?? { host: "", port: 0 };
    await callNode(deployment, from, "REPLICAOF", host, port);
    await settled(deployment);
  }
  expect(await keptRow(deployment, former)).toMatch(UNKNOWN);
  await callNode(deployment, 0, "SET", "key:1", "x");
  await callNode(deployment, 0, "DEL", "key:1");
  expect(await keptRow(deployment, former)).toBe("kept");
});

it("does not pass where servers have started from older append-only files, with 300 of 3,300 keys", async () => {
  const deployment = await sandbox.formedReplication("older-file", 1, { appendonly: true, appendfsync: "always" });
  const directories = await Promise.all(
    deployment.nodes.map((_, index) =>
      withNode(deployment, index, async (connection) => (await connection.config("GET", "dir"))[1] ?? ""),
    ),
  );
  const write = (from: number, to: number): Promise<unknown> =>
    withNode(deployment, 0, async (connection) => {
      const pipeline = connection.pipeline();
      for (let each = from; each < to; each++) pipeline.set(`key:${each}`, "x");
      await pipeline.exec();
      return connection.wait(1, 5000);
    });
  await write(0, 300);
  for (const each of directories) cpSync(join(each, "appendonlydir"), join(each, "older"), { recursive: true });
  await write(300, 3300);
  const former = seenData(await settled(deployment));
  const names = deployment.nodes.map((node) => node.name);
  await sandbox.host.signal(deployment.name, names, "SIGKILL");
  for (const each of directories) {
    rmSync(join(each, "appendonlydir"), { recursive: true });
    cpSync(join(each, "older"), join(each, "appendonlydir"), { recursive: true });
  }
  await sandbox.host.restart(deployment.name, names, { newAddresses: false }, never);
  const { host, port } = deployment.nodes[0]?.endpoint ?? { host: "", port: 0 };
  await callNode(deployment, 1, "REPLICAOF", host, port);
  expect(await keptRow(deployment, former)).toMatch(/: 3000 of the 3300 keys .* are gone, and it cannot be said why/);
});

it("does not pass where a server has lost keys that it never counted, and passes for what it counted", async () => {
  const deployment = await sandbox.formedReplication("counted", 1, { "enable-debug-command": true });
  const former = await seeWrites(deployment);
  await callNode(deployment, 0, "SAVE");
  const write = (count: number, ...more: readonly string[]): Promise<unknown> =>
    withNode(deployment, 0, (connection) =>
      Promise.all(Array.from({ length: count }, (_, each) => connection.call("SET", `more:${each}`, "x", ...more))),
    );
  await write(20);
  const more = seenData(await settled(deployment));
  await callNode(deployment, 0, "DEBUG", "RELOAD", "NOSAVE");
  expect(await keptRow(deployment, more)).toMatch(
    /20 of the 70 keys .* are gone, although the server has counted \d expired or evicted keys and no deletion/,
  );
  expect(await keptRow(deployment, former)).toBe("kept");
  await write(20, "PX", "5000");
  const expiring = seenData(await settled(deployment));
  expect(expiring.shards[0]?.keys).toBe(70);
  await eventually("they expire", async () => (await callNode(deployment, 0, "DBSIZE")) === 50);
  expect(await keptRow(deployment, expiring)).toBe("kept");
  await callNode(deployment, 0, "DEL", "key:1", "key:2", "key:3");
  expect(await keptRow(deployment, former)).toBe("kept");
});

it("fails for a server without replicas and persistence that has restarted", async () => {
  const deployment = await sandbox.formedReplication("single", 0);
  const former = await seeWrites(deployment);
  const names = deployment.nodes.map((node) => node.name);
  await sandbox.host.signal(deployment.name, names, "SIGKILL");
  await sandbox.host.restart(deployment.name, names, { newAddresses: false }, never);
  expect(await keptRow(deployment, former)).toMatch(LOST);
});

it("fails for servers that have started from an older snapshot", async () => {
  const deployment = await sandbox.formedReplication("saved", 1, { save: "3600 100000" });
  await seeWrites(deployment);
  await callNode(deployment, 0, "SAVE");
  const saved = await settled(deployment);
  const former = await seeWrites(deployment);
  await killAll(deployment);
  expect(await keptRow(deployment, former)).toMatch(
    /has started from an older copy, which ends at byte \d+ of the replication stream; the last verification saw byte \d+/,
  );
  expect(await keptRow(deployment, seenData(saved))).toBe("kept");
});

describe("a cluster without persistence", () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await sandbox.formedCluster("emptied", 3, 1, { "cluster-node-timeout": 1500 });
  });

  it("fails once all servers have started without their data, and holds again from what is there", async () => {
    const former = await seeWrites(deployment);
    await killAll(deployment);
    const row = await keptRow(deployment, former);
    expect(row).toMatch(LOST);
    expect(await keptRow(deployment, await seeWrites(deployment))).toBe("kept");
  });

  it("fails one update, after which the next one compares with what is there", async () => {
    const api = await FakeApiServer.start();
    try {
      const target = api.serve(deployment, CLUSTER);
      const provider = new ValkeyProvider("1.2.3", undefined, () => undefined);
      const urn = `urn:pulumi:stack::project::${resourceType("DeploymentVerification")}::${deployment.name}`;
      const password = deployment.access.password ?? "";
      const inputs = { target, password, formationMs: null, revision: null, timeoutSeconds: 30, trigger: 0 };
      await seeWrites(deployment);
      const verified = (await provider.create(urn, inputs)).outs as Record<string, unknown>;
      await killAll(deployment);
      const refreshed = (await provider.read(deployment.name, urn, verified)).props as Record<string, unknown>;
      expect(refreshed).toMatchObject({ drift: [expect.stringMatching(/^data-kept: /)] });
      const failed: unknown = await provider
        .update(deployment.name, urn, refreshed, inputs)
        .catch((error: unknown) => error);
      expect(String(failed).replaceAll(/\s+/g, " ")).toMatch(LOST);
      const { properties } = failed as { readonly properties: Record<string, unknown> };
      expect((await provider.diff(deployment.name, urn, properties, inputs)).changes).toBe(true);
      expect((await provider.update(deployment.name, urn, properties, inputs)).outs).toMatchObject({
        topology: { verdict: { pass: true } },
        drift: [],
      });
    } finally {
      api.stop();
    }
  });

  it("fails where another server has taken over since the loss", async () => {
    await seeWrites(deployment);
    const former = await seeWrites(deployment);
    await killAll(deployment);
    // Copied by the server that takes over.
    for (const [index] of deployment.nodes.entries())
      await withNode(deployment, index, async (connection) => {
        for (const key of ["new:1", "new:2", "new:3"]) await connection.set(key, "x").catch(() => undefined);
      });
    await failOver(deployment);
    expect(await keptRow(deployment, former)).toMatch(UNKNOWN);
  });
});
