/** The verdict on a real cluster and on real replication, with a violation of each assertion. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { signalProcess, identifyProcess } from "../../../lib/system/process-identity";
import { type SettlingTime, verify, verifyUntilPass } from "../../../valkey/verification/verify";
import { useSandbox } from "../../support/valkey/hooks";
import { eventually, withNode, callNode, failing as violations } from "../../support/valkey/real";

const sandbox = useSandbox();
let cluster: Deployment;
let replication: Deployment;

beforeAll(async () => {
  [cluster, replication] = await Promise.all([
    sandbox.formedCluster("cluster", 3, 1, { "cluster-node-timeout": 1000, "cluster-allow-reads-when-down": true }),
    sandbox.formedReplication("replication", 2),
  ]);
});

const failing = async (deployment: Deployment): Promise<string[]> =>
  (await verify(deployment)).verdict.assertions.flatMap(({ id, pass }) => (pass ? [] : [id]));
const indexOf = (deployment: Deployment, name: string | undefined): number =>
  deployment.nodes.findIndex((node) => node.name === name);
const passes = (deployment: Deployment): Promise<void> =>
  eventually("it passes again", async () => (await failing(deployment)).length === 0);

async function shard(index = 0): Promise<{ primary: number; replica: number; slot: number }> {
  const { verdict } = await verify(cluster);
  const found = verdict.shards[index];
  return {
    primary: indexOf(cluster, found?.primary),
    replica: indexOf(cluster, found?.replicas[0]),
    slot: found?.slots[0]?.from ?? -1,
  };
}

const id = (index: number): Promise<string> =>
  withNode(cluster, index, async (connection) => connection.cluster("MYID"));
const server = (deployment: Deployment, index: number): number =>
  sandbox.host.servers(deployment.name)[index]?.process.pid ?? 0;
function signal(pid: number, name: NodeJS.Signals): void {
  const identity = identifyProcess(pid);
  if (identity === undefined || !signalProcess(identity, name)) throw new Error(`process ${pid} is not there`);
}

describe("a real cluster", () => {
  it("passes after formation", async () => {
    expect(await failing(cluster)).toEqual([]);
  });

  it("fails where a setting differs, in that assertion alone", async () => {
    await callNode(cluster, 4, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    expect(await failing(cluster)).toEqual(["same-settings"]);
    await callNode(cluster, 4, "CONFIG", "SET", "maxmemory-policy", "noeviction");
    await passes(cluster);
  });

  it("fails while a slot is being migrated, in that assertion alone", async () => {
    const [from, to] = [await shard(0), await shard(1)];
    await callNode(cluster, from.primary, "CLUSTER", "SETSLOT", from.slot, "MIGRATING", await id(to.primary));
    expect(await failing(cluster)).toEqual(["no-moves"]);
    await callNode(cluster, from.primary, "CLUSTER", "SETSLOT", from.slot, "STABLE");
    await passes(cluster);
  });

  it("fails where no node serves a slot", async () => {
    const { primary, slot } = await shard(0);
    await callNode(cluster, primary, "CLUSTER", "DELSLOTS", slot);
    expect(await failing(cluster)).toEqual(expect.arrayContaining(["state-ok", "slots-covered", "one-owner"]));
    await callNode(cluster, primary, "CLUSTER", "ADDSLOTS", slot);
    await passes(cluster);
  });

  it("fails where views differ in an epoch, until all nodes know it", async () => {
    const { primary } = await shard(2);
    await callNode(cluster, primary, "CLUSTER", "BUMPEPOCH");
    const rows = new Set(await failing(cluster));
    await passes(cluster);
    for (const row of rows) expect(["views-agree"]).toContain(row);
  });

  it("fails where a replica shares its primary's zone, in the assertions about zones", async () => {
    const { primary, replica } = await shard(0);
    const zone = cluster.nodes[primary]?.zone;
    const moved: Deployment = {
      ...cluster,
      nodes: cluster.nodes.map((node, index) => (index === replica ? { ...node, zone } : node)),
    };
    expect(await failing(moved)).toEqual(["replica-elsewhere", "zones-apart", "zones-told"]);
  });

  it("fails where a replica's link is down, and where it lags", async () => {
    const { primary, replica } = await shard(0);
    await callNode(cluster, primary, "CONFIG", "SET", "requirepass", "changed");
    try {
      const info = async (): Promise<string> =>
        withNode(cluster, replica, (connection) => connection.info("replication"));
      const changed: Deployment = {
        ...cluster,
        connect: (node) => (node === cluster.nodes[primary] ? connectWith(node, "changed") : cluster.connect(node)),
      };
      const { connect } = await import("../../../valkey/connection.js");
      const connectWith = (node: Deployment["nodes"][number], password: string): ReturnType<Deployment["connect"]> =>
        connect(node.name, node.endpoint, { password });
      const admin = await changed.connect(cluster.nodes[primary] as Deployment["nodes"][number]);
      await admin.call("CLIENT", "KILL", "TYPE", "replica");
      await eventually("the link is down", async () => (await info()).includes("master_link_status:down"));
      const rows = await failing(changed);
      await admin.config("SET", "requirepass", cluster.access.password ?? "");
      admin.disconnect();
      expect(rows).toEqual(expect.arrayContaining(["links-up"]));
      for (const row of rows) expect(["links-up", "lag-bounded"]).toContain(row);
    } finally {
      await passes(cluster);
    }
  });

  it("fails where a node hangs, in reachable and in all assertions that need its facts", async () => {
    const { replica } = await shard(1);
    const pid = server(cluster, replica);
    signal(pid, "SIGSTOP");
    try {
      const quick: Deployment = {
        ...cluster,
        connect: async (node) =>
          node === cluster.nodes[replica]
            ? Promise.race([
                cluster.connect(node),
                new Promise<never>((_resolve, reject) => {
                  setTimeout(() => {
                    reject(new Error("no answer"));
                  }, 500);
                }),
              ])
            : cluster.connect(node),
      };
      expect(await failing(quick)).toEqual(expect.arrayContaining(["reachable", "views-agree", "members"]));
      await eventually("the others see it fail", async () => (await failing(quick)).includes("none-failing"));
    } finally {
      signal(pid, "SIGCONT");
    }
    await passes(cluster);
  });

  it("fails where an unknown node is part of the cluster", async () => {
    const stranger = await sandbox.cluster("stranger", 3, 0);
    const [node] = stranger.nodes;
    await callNode(stranger, 0, "CONFIG", "SET", "requirepass", cluster.access.password ?? "");
    await callNode(cluster, 0, "CLUSTER", "MEET", "127.0.0.1", node?.endpoint.port ?? 0, node?.busPort ?? 0);
    await eventually("it is known", async () => (await failing(cluster)).join() === "members");
    const strangerId = await withNode(
      { ...stranger, connect: (each) => cluster.connect(each) },
      0,
      async (connection) => connection.cluster("MYID"),
    );
    await withNode({ ...stranger, connect: (each) => cluster.connect(each) }, 0, (connection) =>
      connection.cluster("RESET", "HARD"),
    );
    await Promise.all(
      cluster.nodes.map((_each, index) =>
        withNode(cluster, index, (connection) => connection.cluster("FORGET", strangerId)),
      ),
    );
    await passes(cluster);
  });

  it("fails where a primary has lost its replica", async () => {
    const { replica } = await shard(2);
    await withNode(cluster, replica, async (connection) =>
      connection.cluster("REPLICATE", await id((await shard(1)).primary)),
    );
    await eventually("it follows another", async () => (await failing(cluster)).includes("replicas"));
    const rows = await failing(cluster);
    expect(rows).toEqual(expect.arrayContaining(["replicas", "replica-elsewhere"]));
    await form(cluster, { primaries: 3, replicasPerPrimary: 1 }).catch(() => undefined);
    await withNode(cluster, replica, async (connection) =>
      connection.cluster("REPLICATE", await id((await shard(2)).primary)),
    );
    await passes(cluster);
  });

  it("fails after a primary is killed, and names it", async () => {
    const { primary } = await shard(0);
    signal(server(cluster, primary), "SIGKILL");
    await eventually("it is gone", () => identifyProcess(server(cluster, primary)) === undefined);
    const { verdict } = await verify(cluster);
    expect(verdict.pass).toBe(false);
    expect(verdict.assertions.find(({ id: row }) => row === "reachable")).toMatchObject({
      pass: false,
      nodes: [cluster.nodes[primary]?.name],
    });
  });
});

describe("a real replication", () => {
  it("passes after formation", async () => {
    expect(await failing(replication)).toEqual([]);
  });

  it("fails where a replica accepts writes, and where its settings differ", async () => {
    await callNode(replication, 1, "CONFIG", "SET", "replica-read-only", "no");
    expect(await failing(replication)).toEqual(["read-only", "same-settings"]);
    await callNode(replication, 1, "CONFIG", "SET", "replica-read-only", "yes");
    await passes(replication);
  });

  it("fails while a replica copies over two connections, and counts it once", async () => {
    const copying = await sandbox.formedReplication("copying", 1, { "dual-channel-replication-enabled": true });
    const port = copying.nodes[0]?.endpoint.port ?? 0;
    for (let key = 0; key < 50; key++) await callNode(copying, 0, "SET", `k${key}`, "x");
    await callNode(copying, 0, "CONFIG", "SET", "rdb-key-save-delay", 1_000_000);
    // After a write of its own, the replica has to copy everything.
    await callNode(copying, 1, "REPLICAOF", "NO", "ONE");
    await callNode(copying, 1, "SET", "own", "x");
    await callNode(copying, 1, "REPLICAOF", "127.0.0.1", port);
    await eventually("it copies", async () =>
      String(await callNode(copying, 0, "INFO", "replication")).includes("type=rdb-channel"),
    );
    const wanted = [
      `one-data-set: copying-1: has no copy of the data of 127.0.0.1:${port} yet`,
      "all-online: copying-0: counts 0 of 1 replicas as online",
      "links-up: copying-1: copies the data of its primary",
    ];
    // The second connection comes a moment after the first.
    await eventually(`the verdict is ${wanted.join(", ")}`, async () => {
      const found = await violations(copying);
      return wanted.every((row) => found.includes(row));
    });
    await callNode(copying, 0, "CONFIG", "SET", "rdb-key-save-delay", 0);
  });

  it("fails where there are two primaries", async () => {
    await callNode(replication, 2, "REPLICAOF", "NO", "ONE");
    const rows = await failing(replication);
    expect(rows).toEqual(expect.arrayContaining(["one-primary", "replicas", "all-online"]));
    await form(replication, { primaries: 1, replicasPerPrimary: 2 });
    await passes(replication);
  });

  it("fails where a replica follows another replica", async () => {
    const [, first] = replication.nodes;
    await callNode(replication, 2, "REPLICAOF", "127.0.0.1", String(first?.endpoint.port));
    await eventually("the primary counts one", async () => (await failing(replication)).includes("all-online"));
    await form(replication, { primaries: 1, replicasPerPrimary: 2 });
    await passes(replication);
  });

  it("is waited for while a replica may still link, and not where waiting helps nothing", async () => {
    const limits: SettlingTime = { settlingMs: 500, recoveryMs: 30_000 };
    const password = await withNode(replication, 1, (connection) => connection.config("GET", "primaryauth"));
    await withNode(replication, 1, async (connection) => {
      await connection.config("SET", "primaryauth", "wrong");
      await connection.call("CLIENT", "KILL", "TYPE", "primary");
    });
    await eventually("its link is down", async () => (await failing(replication)).includes("links-up"));
    const restored = sleep(1_500).then(() =>
      withNode(replication, 1, (connection) => connection.config("SET", "primaryauth", password[1] ?? "")),
    );
    expect((await verifyUntilPass(replication, limits)).verdict.pass).toBe(true);
    await restored;

    await callNode(replication, 1, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    const began = performance.now();
    expect((await verifyUntilPass(replication, limits)).verdict.pass).toBe(false);
    expect(performance.now() - began).toBeLessThan(10_000);
    await callNode(replication, 1, "CONFIG", "SET", "maxmemory-policy", "noeviction");
  });

  it("fails on a wrong password for every node, and does not print the password", async () => {
    const { connect } = await import("../../../valkey/connection.js");
    const wrong: Deployment = {
      ...replication,
      connect: (node) => connect(node.name, node.endpoint, { password: "hunter2" }),
    };
    const { verdict } = await verify(wrong);
    expect(verdict.assertions[0]).toMatchObject({ id: "reachable", pass: false });
    expect(JSON.stringify(verdict)).toContain("the server refuses the password");
    expect(JSON.stringify(verdict)).not.toContain("hunter2");
  });
});
