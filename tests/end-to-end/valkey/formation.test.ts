import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { handler } from "../../../provider/handlers/formation";
import { form } from "../../../valkey/formation/form";
import { describeLeftoverSettings } from "../../../valkey/membership/temporary-settings";
import { verify } from "../../../valkey/verification/verify";
import { eventually, Sandbox, withNode } from "../../support/valkey/real";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.open();
});
afterAll(() => sandbox.close());

const failing = async (deployment: Deployment): Promise<string[]> =>
  (await verify(deployment)).verdict.assertions.flatMap(({ pass, id, found }) => (pass ? [] : [`${id}: ${found}`]));
const setting = (deployment: Deployment, index: number, name: string): Promise<string> =>
  withNode(deployment, index, async (connection) => (await connection.config("GET", name))[1] ?? "");

describe("formation of a cluster", () => {
  it("ends with a cluster that passes verification, with the configured settings", async () => {
    const deployment = await sandbox.cluster("fresh", 3, 1, {
      "cluster-node-timeout": 4321,
      "repl-diskless-sync-delay": 3,
    });
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
    for (const [index] of deployment.nodes.entries()) {
      expect(await setting(deployment, index, "cluster-node-timeout")).toBe("4321");
      expect(await setting(deployment, index, "repl-diskless-sync-delay")).toBe("3");
      expect(await setting(deployment, index, "repl-diskless-load")).toBe("disabled");
    }
  });

  it("takes in a node that comes back at another address without its nodes.conf, as a pod without a volume does", async () => {
    const settings = { "cluster-node-timeout": 2000 };
    const cluster = await sandbox.cluster("lost", 3, 1, settings);
    await form(cluster, SHAPE);
    const spare = await sandbox.cluster("spare", 3, 0, settings);
    const [lost, fresh] = [cluster.nodes[0], spare.nodes[0]];
    if (lost === undefined || fresh === undefined) throw new Error("no node");
    await withNode(spare, 0, (connection) => connection.config("SET", "primaryauth", cluster.access.password ?? ""));
    await withNode(cluster, 0, (connection) => connection.call("SHUTDOWN", "NOSAVE")).catch(() => undefined);
    const connect: Deployment["connect"] = (node, ...rest) =>
      node.endpoint === fresh.endpoint ? spare.connect(fresh, ...rest) : cluster.connect(node, ...rest);
    const nodes = cluster.nodes.map((node) => (node === lost ? { ...fresh, name: lost.name, zone: lost.zone } : node));
    const deployment = { ...cluster, nodes, connect };
    // Forming before every node has found it failed is refused.
    const hasTakenOver = (index: number): Promise<boolean> =>
      withNode(deployment, index, async (connection) => {
        const [views, info] = [String(await connection.cluster("NODES")), await connection.cluster("INFO")];
        return / master,fail .*connected$/m.test(views) && info.includes("cluster_slots_ok:16384");
      });
    await eventually("all others find it failed, and its replica has taken over", async () =>
      (await Promise.all([1, 2, 3, 4, 5].map(hasTakenOver))).every(Boolean),
    );
    expect(await failing(deployment)).toContainEqual(expect.stringMatching(/^members: /));
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
  });

  it("restores hidden directives, also those that a killed formation left changed", async () => {
    const deployment = await sandbox.cluster("hidden", 3, 1);
    const hidden = async (index: number): Promise<string[]> =>
      Promise.all([
        setting(deployment, index, "cluster-ping-interval"),
        setting(deployment, index, "cluster-message-gossip-perc"),
      ]);
    // Before Valkey 9, cluster-message-gossip-perc does not exist.
    const own = (await hidden(0))[1] === "" ? ["0", ""] : ["0", "10"];
    for (const [index] of deployment.nodes.entries())
      await withNode(deployment, index, (connection) => connection.config("SET", "cluster-ping-interval", "9999"));
    if (own[1] === "10")
      await withNode(deployment, 1, (connection) => connection.config("SET", "cluster-message-gossip-perc", "1"));
    await form(deployment, SHAPE);
    for (const [index] of deployment.nodes.entries()) expect(await hidden(index)).toEqual(own);
    await withNode(deployment, 2, (connection) => connection.config("SET", "cluster-ping-interval", "9999"));
    await form(deployment, SHAPE);
    expect(await hidden(2)).toEqual(own);
  });

  it.each(["cluster", "replication"] as const)(
    "restores settings that a killed formation left, also where they are not configured, of %s",
    async (mode) => {
      const deployment = await (mode === "cluster"
        ? sandbox.cluster("leftover", 3, 1)
        : sandbox.replication("leftover-replication", 1));
      const shape = mode === "cluster" ? SHAPE : { primaries: 1, replicasPerPrimary: 1 };
      await form(deployment, shape);
      const plain = { ...deployment, directives: new Map<string, string>() };
      const leftover = {
        "cluster-node-timeout": "700",
        "repl-diskless-load": "on-empty-db",
        "repl-diskless-sync-delay": "0",
        "cluster-allow-replica-migration": "no",
      };
      const usual = {
        "cluster-node-timeout": "15000",
        "repl-diskless-load": "disabled",
        "repl-diskless-sync-delay": "5",
        "cluster-allow-replica-migration": "yes",
      };
      for (const [index] of deployment.nodes.entries())
        await withNode(deployment, index, (node) => node.call("CONFIG", "SET", ...Object.entries(leftover).flat()));
      expect(await describeLeftoverSettings(plain)).toContain(
        `${deployment.name}-0: cluster-node-timeout is 700, not 15000`,
      );
      await form(plain, shape);
      for (const [index] of deployment.nodes.entries())
        for (const [name, value] of Object.entries(usual)) expect(await setting(deployment, index, name)).toBe(value);
      expect(await describeLeftoverSettings(plain)).toEqual([]);
    },
  );

  it("ends when the update is cancelled, with the settings restored", async () => {
    const deployment = await sandbox.cluster("cancelled", 3, 1);
    const cancelled = new AbortController();
    cancelled.abort(new Error("the update was cancelled"));
    const { name, mode, nodes, directives, access } = deployment;
    const target = {
      ...({ platform: "endpoints", name, mode, nodes, shape: SHAPE, zones: ["a", "b", "c"] } as const),
      directives: Object.fromEntries(directives),
    };
    await expect(
      handler.create(
        { target, password: access.password ?? "", timeoutSeconds: 60 },
        { signal: cancelled.signal, report: () => undefined },
      ),
    ).rejects.toThrow("the update was cancelled");
    expect(await describeLeftoverSettings(deployment)).toEqual([]);
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
  });

  it("changes nothing on a formed cluster: not a byte of any node's view", async () => {
    const deployment = await sandbox.cluster("again", 3, 1);
    await form(deployment, SHAPE);
    const views = (): Promise<string[]> =>
      Promise.all(
        deployment.nodes.map((_node, index) =>
          withNode(deployment, index, async (connection) =>
            String(await connection.cluster("NODES")).replaceAll(/ \d+ \d+ (?=\d+ connected)/g, " "),
          ),
        ),
      );
    const before = await views();
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: false });
    expect(await views()).toEqual(before);
  });

  it.each([
    ["a primary", 0],
    ["a replica", 5],
  ])("takes %s back that has lost its data and its node ID", async (_role, lost) => {
    const deployment = await sandbox.cluster(`lost-${lost}`, 3, 1, { "cluster-node-timeout": 1000 });
    await form(deployment, SHAPE);
    await withNode(deployment, lost, (connection) => connection.cluster("RESET", "HARD"));
    await eventually("the others find it failed, and its replica has taken over", () =>
      withNode(deployment, 1, async (connection) => {
        const views = String(await connection.cluster("NODES"));
        const info = await connection.cluster("INFO");
        return /fail|noaddr/.test(views) && info.includes("cluster_slots_ok:16384");
      }),
    );
    expect(await failing(deployment)).not.toEqual([]);
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
  });

  it("completes an interrupted formation", async () => {
    const deployment = await sandbox.cluster("half", 3, 1);
    const stop = new AbortController();
    const interrupted = form(deployment, SHAPE, {
      signal: stop.signal,
      report: () => {
        stop.abort(new Error("interrupted"));
      },
    });
    await expect(interrupted).rejects.toThrow("interrupted");
    expect(await setting(deployment, 0, "cluster-node-timeout")).toBe("15000");
    expect((await verify(deployment)).verdict.pass).toBe(false);
    expect(await form(deployment, SHAPE)).toMatchObject({ changed: true });
    expect(await failing(deployment)).toEqual([]);
  });

  it("completes a cluster whose nodes have met and own no slots, and one that lacks a replica", async () => {
    const deployment = await sandbox.cluster("partial", 3, 1);
    const [first] = deployment.nodes;
    for (let index = 1; index < 6; index++)
      await withNode(deployment, index, (connection) =>
        connection.call("CLUSTER", "MEET", "127.0.0.1", first?.endpoint.port ?? 0, first?.busPort ?? 0),
      );
    await form(deployment, SHAPE);
    expect(await failing(deployment)).toEqual([]);
    const { verdict } = await verify(deployment);
    const replica = deployment.nodes.findIndex(({ name }) => name === verdict.shards[0]?.replicas[0]);
    await withNode(deployment, replica, (connection) => connection.cluster("RESET", "SOFT"));
    expect(await failing(deployment)).not.toEqual([]);
    await form(deployment, SHAPE, { timeoutMs: 40_000 });
    expect(await failing(deployment)).toEqual([]);
  });

  it("gives the reason when it is blocked, and changes nothing", async () => {
    const deployment = await sandbox.cluster("blocked", 3, 1);
    const replica = deployment.nodes.length - 1;
    await withNode(deployment, replica, async (connection) => {
      await connection.cluster("ADDSLOTS", 0, 1, 2);
      await eventually("it serves", async () => (await connection.cluster("INFO")).includes("cluster_slots_ok:3"));
    });
    await expect(form(deployment, SHAPE)).rejects.toThrow(/blocked cannot be formed: .*blocked-5/);
    expect(await withNode(deployment, 0, async (connection) => await connection.cluster("INFO"))).toContain(
      "cluster_known_nodes:1",
    );
  });

  it("reports what is missing when the time is up", async () => {
    const deployment = await sandbox.cluster("late", 3, 1);
    await expect(form(deployment, SHAPE, { timeoutMs: 30 })).rejects.toThrow(/late is not formed after \d+ s: late-\d/);
  });
});

describe("formation of replication", () => {
  it("ends with replicas of the primary, and changes nothing the second time", async () => {
    const deployment = await sandbox.replication("pair", 2);
    await withNode(deployment, 0, (connection) => connection.set("kept", "1"));
    expect(await form(deployment, { primaries: 1, replicasPerPrimary: 2 })).toMatchObject({ changed: true });
    expect(await form(deployment, { primaries: 1, replicasPerPrimary: 2 })).toMatchObject({ changed: false });
    expect(await failing(deployment)).toEqual([]);
    expect(await withNode(deployment, 2, (connection) => connection.get("kept"))).toBe("1");
  });

  it("refuses to make a replica of a node with keys of its own", async () => {
    const deployment = await sandbox.replication("owner", 1);
    for (const index of [0, 1]) await withNode(deployment, index, (connection) => connection.set(`key:${index}`, "1"));
    await expect(form(deployment, { primaries: 1, replicasPerPrimary: 1 })).rejects.toThrow(
      /owner-1 cannot become a replica of owner-0, because owner-1 would lose the 1 keys/,
    );
  });

  it("leaves the primary where it is, whatever its number", async () => {
    const deployment = await sandbox.replication("elsewhere", 2);
    const shape = { primaries: 1, replicasPerPrimary: 2 };
    await withNode(deployment, 1, (connection) => connection.set("kept", "1"));
    await form(deployment, shape);
    const roles = await Promise.all(
      [0, 1, 2].map((index) =>
        withNode(deployment, index, (connection) => connection.call("ROLE") as Promise<unknown[]>),
      ),
    );
    expect(roles.map(([role]) => role)).toEqual(["slave", "master", "slave"]);
    expect(await form(deployment, shape)).toMatchObject({ changed: false });
    expect(await withNode(deployment, 0, (connection) => connection.get("kept"))).toBe("1");
  });
});
