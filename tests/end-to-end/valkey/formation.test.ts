import { beforeAll, describe, expect, it } from "vitest";
import { handler } from "../../../operations/handlers/deployment/formation";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { describeLeftoverSettings } from "../../../valkey/membership/temporary-settings";
import type { Shape } from "../../../valkey/topology/placement";
import { verify } from "../../../valkey/verification/verify";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, clusterViews, eventually, failing, referenceTo, withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const ALL = [0, 1, 2, 3, 4, 5];
/** A busy machine delays no server for that long. Nodes find a lost one failed after this. */
const NODE_TIMEOUT = "3000";
const sandbox = useSandbox();

const setting = (deployment: Deployment, index: number, name: string): Promise<string> =>
  withNode(deployment, index, async (connection) => (await connection.config("GET", name))[1] ?? "");

async function expectUsualSettings(deployment: Deployment, usual: Readonly<Record<string, string>>): Promise<void> {
  for (const [index] of deployment.nodes.entries())
    for (const [name, value] of Object.entries(usual)) expect(await setting(deployment, index, name)).toBe(value);
  expect(await describeLeftoverSettings(deployment)).toEqual([]);
}

const LEFTOVER = {
  "cluster-node-timeout": "700",
  "repl-diskless-load": "on-empty-db",
  "repl-diskless-sync-delay": "0",
  "cluster-allow-replica-migration": "no",
};
const USUAL = {
  "cluster-node-timeout": "15000",
  "repl-diskless-load": "disabled",
  "repl-diskless-sync-delay": "5",
  "cluster-allow-replica-migration": "yes",
};
async function expectLeftoverRestored(deployment: Deployment, shape: Shape): Promise<void> {
  const plain = { ...deployment, directives: new Map<string, string>() };
  for (const [index] of deployment.nodes.entries())
    await callNode(deployment, index, "CONFIG", "SET", ...Object.entries(LEFTOVER).flat());
  expect(await describeLeftoverSettings(plain)).toContain(
    `${deployment.name}-0: cluster-node-timeout is 700, not 15000`,
  );
  await form(plain, shape);
  await expectUsualSettings(plain, USUAL);
}

describe("formation of a cluster, step by step on the same servers", () => {
  let cluster: Deployment;
  beforeAll(async () => {
    cluster = await sandbox.cluster("fresh", 3, 1, {
      "cluster-node-timeout": Number(NODE_TIMEOUT),
      "repl-diskless-sync-delay": 3,
    });
  });
  const usual = {
    "cluster-node-timeout": NODE_TIMEOUT,
    "repl-diskless-sync-delay": "3",
    "repl-diskless-load": "disabled",
  };

  // Before Valkey 9, cluster-message-gossip-perc does not exist.
  const hasGossip = async (): Promise<boolean> => (await setting(cluster, 0, "cluster-message-gossip-perc")) !== "";
  async function hide(nodes: readonly number[]): Promise<void> {
    for (const index of nodes) await callNode(cluster, index, "CONFIG", "SET", "cluster-ping-interval", "9999");
    if (await hasGossip()) await callNode(cluster, 1, "CONFIG", "SET", "cluster-message-gossip-perc", "1");
  }
  async function expectHiddenRestored(): Promise<void> {
    const gossip = (await hasGossip()) ? "10" : "";
    for (const index of ALL) {
      expect(await setting(cluster, index, "cluster-ping-interval")).toBe("0");
      expect(await setting(cluster, index, "cluster-message-gossip-perc")).toBe(gossip);
    }
  }

  it("is blocked by a node with slots, says so, and changes nothing", async () => {
    await withNode(cluster, 5, async (connection) => {
      await connection.cluster("ADDSLOTS", 0, 1, 2);
      await eventually("it serves", async () => (await connection.cluster("INFO")).includes("cluster_slots_ok:3"));
    });
    await expect(form(cluster, SHAPE)).rejects.toThrow(/fresh cannot be formed: .*fresh-5/);
    expect(await callNode(cluster, 0, "CLUSTER", "INFO")).toContain("cluster_known_nodes:1");
    await callNode(cluster, 5, "CLUSTER", "DELSLOTS", 0, 1, 2);
  });

  it("restores the settings when it is interrupted", async () => {
    await hide(ALL);
    const stop = new AbortController();
    const report = (): void => {
      stop.abort(new Error("interrupted"));
    };
    await expect(form(cluster, SHAPE, { signal: stop.signal, report })).rejects.toThrow("interrupted");
    await expectUsualSettings(cluster, usual);
    expect((await verify(cluster)).verdict.pass).toBe(false);
  });

  it("ends when the update is cancelled, with the settings restored", async () => {
    const cancelled = AbortSignal.abort(new Error("the update was cancelled"));
    const password = cluster.access.password ?? "";
    const inputs = { target: referenceTo(cluster, SHAPE), password, users: {}, timeoutSeconds: 60 };
    await expect(handler.create(inputs, { ...HANDLER_CONTEXT, signal: cancelled })).rejects.toThrow(
      "the update was cancelled",
    );
    await expectUsualSettings(cluster, usual);
  });

  it("completes what was begun, with the configured settings and Valkey's own of hidden directives", async () => {
    expect(await form(cluster, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(cluster)).toEqual([]);
    await expectUsualSettings(cluster, usual);
    await expectHiddenRestored();
  });

  it("changes nothing on a formed cluster: not a byte of any node's view", async () => {
    const before = await clusterViews(cluster);
    expect(await form(cluster, SHAPE)).toMatchObject({ changed: false });
    expect(await clusterViews(cluster)).toEqual(before);
  });

  it("restores hidden directives that a killed formation left changed on a formed cluster", async () => {
    await hide([2]);
    await form(cluster, SHAPE);
    await expectHiddenRestored();
  });

  it("completes a cluster that lacks a replica", async () => {
    const { verdict } = await verify(cluster);
    const replica = cluster.nodes.findIndex(({ name }) => name === verdict.shards[0]?.replicas[0]);
    await callNode(cluster, replica, "CLUSTER", "RESET", "SOFT");
    expect(await failing(cluster)).not.toEqual([]);
    await form(cluster, SHAPE, { timeoutMs: 40_000 });
    expect(await failing(cluster)).toEqual([]);
  });

  it.each(["primary", "replica"])("takes a %s back that has lost its data and its node ID", async (role) => {
    const { shards } = (await verify(cluster)).verdict;
    const name = role === "primary" ? shards[0]?.primary : shards[1]?.replicas[0];
    const lost = cluster.nodes.findIndex((node) => node.name === name);
    await callNode(cluster, lost, "CLUSTER", "RESET", "HARD");
    await eventually("the others find it failed, and its replica has taken over", async () => {
      const other = (lost + 1) % 6;
      const views = String(await callNode(cluster, other, "CLUSTER", "NODES"));
      const info = String(await callNode(cluster, other, "CLUSTER", "INFO"));
      return /fail|noaddr/.test(views) && info.includes("cluster_slots_ok:16384");
    });
    expect(await failing(cluster)).not.toEqual([]);
    expect(await form(cluster, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(cluster)).toEqual([]);
  });

  it("takes in a node that comes back at another address without its nodes.conf, as a pod without a volume does", async () => {
    const spare = await sandbox.cluster("spare", 3, 0, { "cluster-node-timeout": Number(NODE_TIMEOUT) });
    const { primary } = (await verify(cluster)).verdict.shards[0] ?? {};
    const place = cluster.nodes.findIndex(({ name }) => name === primary);
    const lost = cluster.nodes[place];
    const fresh = spare.nodes.find(({ zone }) => zone === lost?.zone);
    if (lost === undefined || fresh === undefined) throw new Error("no node");
    await callNode(spare, spare.nodes.indexOf(fresh), "CONFIG", "SET", "primaryauth", cluster.access.password ?? "");
    await callNode(cluster, place, "SHUTDOWN", "NOSAVE").catch(() => undefined);
    const connect: Deployment["connect"] = (node, ...rest) =>
      node.endpoint === fresh.endpoint ? spare.connect(fresh, ...rest) : cluster.connect(node, ...rest);
    const nodes = cluster.nodes.map((node) => (node === lost ? { ...fresh, name: lost.name, zone: lost.zone } : node));
    const deployment = { ...cluster, nodes, connect };
    // Forming before every node has found it failed is refused.
    const hasTakenOver = async (index: number): Promise<boolean> => {
      const views = String(await callNode(cluster, index, "CLUSTER", "NODES"));
      const info = String(await callNode(cluster, index, "CLUSTER", "INFO"));
      return / master,fail .*connected$/m.test(views) && info.includes("cluster_slots_ok:16384");
    };
    await eventually("all others find it failed, and its replica has taken over", async () =>
      (await Promise.all(ALL.filter((index) => index !== place).map(hasTakenOver))).every(Boolean),
    );
    expect(await failing(deployment)).toContainEqual(expect.stringMatching(/^members: /));
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
  });
});

it("reports what is missing when the time is up", async () => {
  const cluster = await sandbox.cluster("late", 3, 1);
  await expect(form(cluster, SHAPE, { timeoutMs: 30 })).rejects.toThrow(/late is not formed after \d+ s: late-\d/);
});

it("completes a cluster whose nodes have met and own no slots, and restores settings that it finds changed", async () => {
  const cluster = await sandbox.cluster("partial", 3, 1);
  const [first] = cluster.nodes;
  for (const index of ALL.slice(1))
    await callNode(cluster, index, "CLUSTER", "MEET", "127.0.0.1", first?.endpoint.port ?? 0, first?.busPort ?? 0);
  await form(cluster, SHAPE);
  expect(await failing(cluster)).toEqual([]);
  await expectLeftoverRestored(cluster, SHAPE);
});

describe("formation of replication", () => {
  const PAIR = { primaries: 1, replicasPerPrimary: 2 };

  it("ends with replicas of the primary, changes nothing the second time, and restores settings that it finds changed", async () => {
    const deployment = await sandbox.replication("pair", 2);
    await callNode(deployment, 0, "SET", "kept", "1");
    expect(await form(deployment, PAIR)).toMatchObject({ changed: true });
    expect(await form(deployment, PAIR)).toMatchObject({ changed: false });
    expect(await failing(deployment)).toEqual([]);
    expect(await callNode(deployment, 2, "GET", "kept")).toBe("1");
    await expectLeftoverRestored(deployment, PAIR);
  });

  it("refuses to make a replica of a node with keys of its own", async () => {
    const deployment = await sandbox.replication("owner", 1);
    for (const index of [0, 1]) await callNode(deployment, index, "SET", `key:${index}`, "1");
    await expect(form(deployment, { primaries: 1, replicasPerPrimary: 1 })).rejects.toThrow(
      /owner-1 cannot become a replica of owner-0, because owner-1 would lose the 1 keys/,
    );
  });

  it("leaves the primary where it is, whatever its number", async () => {
    const deployment = await sandbox.replication("elsewhere", 2);
    await callNode(deployment, 1, "SET", "kept", "1");
    await form(deployment, PAIR);
    const roles = await Promise.all([0, 1, 2].map((index) => callNode(deployment, index, "ROLE")));
    expect(roles.map((role) => (role as unknown[])[0])).toEqual(["slave", "master", "slave"]);
    expect(await form(deployment, PAIR)).toMatchObject({ changed: false });
    expect(await callNode(deployment, 0, "GET", "kept")).toBe("1");
  });
});
