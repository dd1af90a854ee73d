/** Script that runs before the server of a cluster node: real servers that are killed, and start again by the script. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { type ServerSettings, toDirectives } from "../../../valkey/settings/settings";
import { parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { damage, loseLaterWrites, newestFile, PodScripts } from "../../support/valkey/pod-scripts";
import { endsByItself, eventually, never, realPrograms, Sandbox, withNode } from "../../support/valkey/real";

const NAME = "crash";
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const ALL = [0, 1, 2, 3, 4, 5];
const KEYS = 300;
/** Seconds for which a primary waits in vain. Longer than a test, so that no test depends on it. */
const LONG = 100;
const SETTINGS = {
  // That of stacks: far longer than a process takes to come back.
  "cluster-node-timeout": 5000,
  "repl-diskless-sync-delay": 0,
} as const;
type Persistence = Pick<ServerSettings, "save" | "appendonly">;
const NOTHING: Persistence = { save: "", appendonly: false };
/** None is made by itself. */
const SNAPSHOTS: Persistence = { save: "3600 1000000", appendonly: false };
const APPEND_ONLY_FILE: Persistence = { save: "", appendonly: true };

let pods: PodScripts;
let sandbox: Sandbox;
let cluster: Deployment;
let client: Cluster;
let directives: ReadonlyMap<string, string>;

beforeAll(async () => {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open(pods.programs(LONG));
  cluster = await sandbox.cluster(NAME, SHAPE.primaries, SHAPE.replicasPerPrimary, SETTINGS);
  pods.find(cluster);
  await form(cluster, SHAPE);
  client = new Cluster(
    cluster.nodes.map(({ endpoint }) => endpoint),
    {
      redisOptions: { password: cluster.access.password ?? "" },
      clusterRetryStrategy: () => 100,
      retryDelayOnClusterDown: 50,
      retryDelayOnFailover: 50,
      // Nodes that have just started send a client to each other until they agree.
      retryDelayOnMoved: 50,
    },
  );
  client.on("error", () => undefined);
});
afterAll(async () => {
  client.disconnect();
  await sandbox.close();
  pods.close();
});

const nameOf = (index: number): string => cluster.nodes[index]?.name ?? "";
const directoryOf = (index: number): string => sandbox.host.run.nodeDirectory(NAME, nameOf(index));
const call = (index: number, ...command: [string, ...string[]]): Promise<unknown> =>
  withNode(cluster, index, (connection) => connection.call(...command));
const callAll = (indices: readonly number[], ...command: [string, ...string[]]): Promise<unknown[]> =>
  Promise.all(indices.map((index) => call(index, ...command)));
const replication = async (index: number, field: string): Promise<string> =>
  parseInfo(String(await call(index, "INFO", "replication"))).get(field) ?? "";
const isPrimary = async (index: number): Promise<boolean> => (await replication(index, "role")) === "master";

async function persist(settings: Persistence): Promise<void> {
  directives = toDirectives({ ...SETTINGS, ...settings });
  await callAll(await primaries(), "FLUSHALL");
  for (const index of ALL) {
    await call(index, "CONFIG", "SET", "appendonly", "no", "save", settings.save ?? "");
    for (const file of ["dump.rdb", "appendonlydir"])
      rmSync(join(directoryOf(index), file), { recursive: true, force: true });
    if (settings.appendonly !== true) continue;
    await call(index, "CONFIG", "SET", "appendonly", "yes");
    await eventually("its append-only file is complete", async () => {
      const persistence = parseInfo(String(await call(index, "INFO", "persistence")));
      return ["in_progress", "scheduled"].every((state) => persistence.get(`aof_rewrite_${state}`) === "0");
    });
  }
}

async function primaries(): Promise<number[]> {
  const are = await Promise.all(ALL.map(isPrimary));
  return ALL.filter((index) => are[index]);
}

async function replicaOf(primary: number): Promise<number> {
  const port = String(cluster.nodes[primary]?.endpoint.port);
  const ports = await Promise.all(ALL.map((index) => replication(index, "master_port")));
  return ports.indexOf(port);
}

const kill = (...indices: readonly number[]): Promise<void> =>
  sandbox.host.signal(NAME, indices.map(nameOf), "SIGKILL");

const restart = (indices: readonly number[], onSilentReplica: "wait" | "default" | number = LONG): Promise<unknown> => {
  const programs = pods.programs(onSilentReplica);
  return Promise.all(
    indices.map((index) =>
      sandbox.host.restart(NAME, [nameOf(index)], { newAddresses: false, programs, directives }, never),
    ),
  );
};

const wait = (...indices: readonly number[]): Promise<void> =>
  eventually("the scripts wait", () =>
    Promise.resolve(
      indices.every((index) => readFileSync(join(directoryOf(index), "output"), "utf8").includes(" (silent) ")),
    ),
  );

/** Waits for the keeper of a pod, until its mark is that of the present data: not before a new file is complete. */
const marked = (index: number): Promise<void> =>
  eventually("the mark is that of the present data", async () => {
    const mark = join(directoryOf(index), "mark");
    // The same turn notes that the server came up.
    if (existsSync(join(directoryOf(index), "starting"))) return false;
    return existsSync(mark) && readFileSync(mark, "utf8").startsWith(await replication(index, "master_replid"));
  });

const write = (value: string): Promise<unknown> =>
  Promise.all(Array.from({ length: KEYS }, (_, key) => client.set(`key:${key}`, value)));

async function replicate(value: string): Promise<void> {
  await write(value);
  for (const primary of await primaries()) {
    const replica = await replicaOf(primary);
    await eventually(
      "the replica has every write",
      async () =>
        (await replication(replica, "slave_repl_offset")) === (await replication(primary, "master_repl_offset")),
    );
  }
}

async function values(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const found = await Promise.all(Array.from({ length: KEYS }, (_, key) => client.get(`key:${key}`)));
  for (const value of found) counts[value ?? "gone"] = (counts[value ?? "gone"] ?? 0) + 1;
  return counts;
}

const serves = (index: number): Promise<void> =>
  eventually("all slots are served", async () =>
    String(await call(index, "CLUSTER", "INFO")).includes("cluster_state:ok"),
  );
const verified = (): Promise<void> =>
  eventually("verification passes", async () => (await verify({ ...cluster, directives })).verdict.pass, 30_000);

describe("a cluster node that is killed and starts again at once", () => {
  it("loses nothing without persistence, also when its successor is killed next, and then itself again", async () => {
    await persist(NOTHING);
    await replicate("kept");
    let primary = 0;
    for (let round = 1; round <= 3; round++) {
      const replica = await replicaOf(primary);
      await kill(primary);
      await restart([primary]);
      await verified();
      expect(await values()).toEqual({ kept: KEYS });
      expect(await isPrimary(replica)).toBe(true);
      primary = replica;
    }
  });

  it("keeps its append-only file where replicas have less, or do not answer", async () => {
    await persist(APPEND_ONLY_FILE);
    const [primary = 0] = await primaries();
    const replica = await replicaOf(primary);
    await replicate("both");
    await marked(primary);
    // The replica loses its primary, and misses what is written from then on.
    await call(replica, "CONFIG", "SET", "primaryauth", "wrong");
    await call(replica, "CLIENT", "KILL", "TYPE", "master");
    await eventually(
      "the replica has been without its primary for some seconds",
      async () => Number(await replication(replica, "master_link_down_since_seconds")) > 4,
    );
    await write("primary");
    // While a slow disk synchronizes the file, a server keeps up to two seconds of writes for itself.
    await eventually("the file has every write", async () =>
      String(await call(primary, "INFO", "persistence")).includes("aof_buffer_length:0"),
    );
    for (const killed of [[primary], [primary, replica]]) {
      await kill(...killed);
      // It waits for a replica that is silent, but not for ever.
      await restart([primary], 3);
      await serves(primary);
      expect(await values()).toEqual({ primary: KEYS });
      expect(await isPrimary(primary)).toBe(true);
    }
    await restart([replica]);
    await verified();
  });

  it("has what a replica has and its append-only file lacks after a power loss, also where the replica answers late", async () => {
    await persist(APPEND_ONLY_FILE);
    const [primary = 0] = await primaries();
    const replica = await replicaOf(primary);
    await replicate("old");
    await eventually("the file has every write", async () =>
      String(await call(primary, "INFO", "persistence")).includes("aof_buffer_length:0"),
    );
    const lost = loseLaterWrites(join(directoryOf(primary), "appendonlydir"));
    await replicate("new");
    await kill(primary);
    await sandbox.host.signal(NAME, [nameOf(replica)], "SIGSTOP");
    lost();
    const restarted = restart([primary]);
    await sleep(3500);
    await sandbox.host.signal(NAME, [nameOf(replica)], "SIGCONT");
    await restarted;
    await verified();
    expect(await values()).toEqual({ new: KEYS });
  });
});

describe("a cluster node whose append-only file is damaged", () => {
  it("comes back with what its replica has", async () => {
    await persist(APPEND_ONLY_FILE);
    const [primary = 0] = await primaries();
    await replicate("kept");
    await marked(primary);
    await kill(primary);
    damage(newestFile(join(directoryOf(primary), "appendonlydir")));
    await restart([primary]).catch(() => undefined);
    await endsByItself(cluster, primary);
    await kill(primary);
    await restart([primary]);
    await verified();
    expect(await values()).toEqual({ kept: KEYS });
  });
});

describe("cluster nodes that are all killed at once", () => {
  it("come back with the newest snapshot of each shard, in any order", async () => {
    await persist(SNAPSHOTS);
    const former = await primaries();
    const replicas = await Promise.all(former.map(replicaOf));
    await write("older");
    await callAll(former, "SAVE");
    await replicate("newer");
    await callAll(replicas, "SAVE");
    await kill(...ALL);
    const start = restart(former);
    await wait(...former);
    await Promise.all([start, restart(replicas)]);
    await verified();
    expect(await values()).toEqual({ newer: KEYS });

    // Those who were replicas are the primaries, and have the newest snapshots.
    await write("newest");
    await callAll(replicas, "SAVE");
    await kill(...ALL);
    await Promise.all([restart(former), restart(replicas)]);
    await verified();
    expect(await values()).toEqual({ newest: KEYS });
    expect(await Promise.all(replicas.map(isPrimary))).toEqual([true, true, true]);
  });

  it("leave a shard to the copy that starts later, where its primary has none", async () => {
    await persist(NOTHING);
    const [primary = 0] = await primaries();
    const replica = await replicaOf(primary);
    await replicate("kept");
    await call(replica, "SAVE");
    await kill(primary, replica);
    const start = restart([primary]);
    await wait(primary);
    await restart([replica]);
    await start;
    await verified();
    expect(await values()).toEqual({ kept: KEYS });
    expect(await isPrimary(replica)).toBe(true);
  });

  it("start with what they have after a while, where no replica comes back", async () => {
    await persist(SNAPSHOTS);
    const alone = await primaries();
    const replicas = await Promise.all(alone.map(replicaOf));
    await write("saved");
    await callAll(alone, "SAVE");
    await kill(...ALL);
    await restart(alone, 1);
    await Promise.all(alone.map(serves));
    expect(await values()).toEqual({ saved: KEYS });
    await restart(replicas);
    await verified();
  });
});
