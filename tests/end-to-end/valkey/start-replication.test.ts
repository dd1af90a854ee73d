/** Script that runs before a server in replication mode, without Sentinels: real servers that are killed, and start again by the script. */
import { cpSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { handOver } from "../../../valkey/formation/hand-over";
import { type ServerSettings, toDirectives } from "../../../valkey/settings/settings";
import { parseFlatReply, parseInfo } from "../../../valkey/topology/replies";
import { damage, loseLaterWrites, newestFile, PodScripts } from "../../support/valkey/pod-scripts";
import { endsByItself, eventually, never, realPrograms, Sandbox, withNode, ZONES } from "../../support/valkey/real";

const NAME = "crash";
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const ALL = [0, 1, 2];
const KEYS = 300;
const BOOT = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
/** Seconds since this machine started, by which scripts measure their waits. */
const uptime = (): number => Number.parseInt(readFileSync("/proc/uptime", "utf8"), 10);
/** Seconds for which a primary waits in vain. Longer than a test, so that no test depends on it. */
const LONG = 100;
const SERVICE = { PRIMARY_SERVICE: "service.pods" };
type Persistence = Pick<ServerSettings, "save" | "appendonly">;
const NOTHING: Persistence = { save: "", appendonly: false };
/** None is made by itself. */
const SNAPSHOTS: Persistence = { save: "3600 1000000", appendonly: false };
const APPEND_ONLY_FILE: Persistence = { save: "", appendonly: true };

let pods: PodScripts;
let sandbox: Sandbox;
let deployment: Deployment;
let directives: ReadonlyMap<string, string>;

async function start(settings: Persistence): Promise<void> {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open(pods.replicationPrograms(LONG));
  const all = { ...settings, "repl-diskless-sync-delay": 0, "shutdown-on-sigterm": "save" };
  directives = toDirectives(all);
  deployment = await sandbox.host.start(
    { name: NAME, mode: "replication", shape: SHAPE, settings: all, zones: ZONES, zoneAddresses: true },
    never,
  );
  pods.find(deployment);
  for (const index of ALL) writeFileSync(join(directoryOf(index), "servers"), "3\n");
  await form(deployment, SHAPE);
  if (settings.appendonly === true) cpSync(join(directoryOf(0), "appendonlydir"), emptyFile(), { recursive: true });
}

/** Copy of an append-only file as a server makes it when it starts. */
const emptyFile = (): string => join(sandbox.host.run.nodeDirectory(NAME, nameOf(0)), "empty");

const nameOf = (index: number): string => deployment.nodes[index]?.name ?? "";
const directoryOf = (index: number): string => sandbox.host.run.nodeDirectory(NAME, nameOf(index));
const mark = (index: number): string => readFileSync(join(directoryOf(index), "mark"), "utf8");
const outputOf = (index: number): string => readFileSync(join(directoryOf(index), "output"), "utf8");
const call = (index: number, ...command: [string, ...string[]]): Promise<unknown> =>
  withNode(deployment, index, (connection) => connection.call(...command));
const replication = async (index: number, field: string): Promise<string> =>
  parseInfo(String(await call(index, "INFO", "replication"))).get(field) ?? "";

const end = (signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT", ...indices: readonly number[]): Promise<void> =>
  sandbox.host.signal(NAME, indices.map(nameOf), signal);

const restart = (indices: readonly number[], onSilentReplica: "wait" | "default" | number = LONG): Promise<unknown> => {
  const programs = pods.replicationPrograms(onSilentReplica);
  return Promise.all(
    indices.map((index) =>
      sandbox.host.restart(NAME, [nameOf(index)], { newAddresses: false, programs, directives }, never),
    ),
  );
};

const write = (value: string): Promise<unknown> =>
  withNode(deployment, 0, (connection) =>
    Promise.all(Array.from({ length: KEYS }, (_, key) => connection.call("SET", `key:${key}`, value))),
  );

async function replicate(value: string, replicas: readonly number[] = [1, 2]): Promise<void> {
  await write(value);
  for (const replica of replicas)
    await eventually(
      "the replica has every write",
      async () => (await replication(replica, "slave_repl_offset")) === (await replication(0, "master_repl_offset")),
    );
}

async function values(index: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  await withNode(deployment, index, async (connection) => {
    for (const found of await Promise.all(
      Array.from({ length: KEYS }, (_, key) => connection.call("GET", `key:${key}`)),
    )) {
      const value = typeof found === "string" ? found : "gone";
      counts[value] = (counts[value] ?? 0) + 1;
    }
  });
  return counts;
}

async function primaries(): Promise<number[]> {
  const roles = await Promise.all(ALL.map((index) => replication(index, "role")));
  return ALL.filter((index) => roles[index] === "master");
}

const run = (script: string, index: number, variables: Readonly<Record<string, string>> = {}): Promise<void> =>
  pods.runWith({ ...SERVICE, DATA: directoryOf(index), ...variables }, script, nameOf(index));
const probe = (index: number, variables: Readonly<Record<string, string>> = {}): Promise<void> =>
  run("ready-replication.sh", index, variables);
/** A turn of the keeper, after which the next one may come soon (status 3). */
const keep = (index: number, variables: Readonly<Record<string, string>> = {}): Promise<void> =>
  run("keep-replication.sh", index, variables).catch((error: unknown) => {
    if ((error as { readonly code?: unknown }).code !== 3) throw error;
  });

async function ready(which: readonly number[] = ALL): Promise<void> {
  await eventually("the pods are ready", async () =>
    (await Promise.allSettled(which.map((index) => probe(index)))).every(({ status }) => status === "fulfilled"),
  );
}

async function expectAll(value: string): Promise<void> {
  await eventually("pod 0 is the only primary", async () => (await ready(), (await primaries()).join() === "0"));
  await eventually("all nodes have it", async () =>
    (await Promise.all(ALL.map(values))).every((counts) => counts[value] === KEYS),
  );
}

describe.each([
  ["no persistence", NOTHING],
  ["snapshots", SNAPSHOTS],
  ["an append-only file", APPEND_ONLY_FILE],
])("a primary that starts again, with %s", (_title, persistence) => {
  beforeAll(() => start(persistence));
  // Also after a test that failed.
  beforeEach(async () => {
    await end("SIGCONT", ...ALL);
    await restart(ALL);
    await eventually("pod 0 is the only primary", async () => (await ready(), (await primaries()).join() === "0"));
  });
  afterAll(async () => {
    await sandbox.close();
    pods.close();
  });

  it("has all that its replicas had, however often it dies", async () => {
    await replicate("old");
    if (persistence === SNAPSHOTS) await call(0, "SAVE");
    await replicate("new");
    for (let time = 0; time < 2; time++) {
      await end("SIGKILL", 0);
      await restart([0]);
    }
    await expectAll("new");
    await replicate("newer");
    await end("SIGKILL", 0);
    await restart([0]);
    // A replica gives its data and dies, before the primary is one again.
    const [helper = 0] = await primaries();
    if (persistence !== NOTHING) return expectAll("newer");
    await eventually("it has its copy", async () => (await replication(0, "master_link_status")) === "up");
    await end("SIGKILL", helper);
    await ready([0]);
    await restart([helper]);
    await expectAll("newer");
  });

  it("takes nothing from its replicas when it stopped in order", async () => {
    await replicate("newest");
    // It is not before a new append-only file is complete.
    await eventually("the mark is that of the present data", async () => {
      await keep(0);
      return mark(0).startsWith(await replication(0, "master_replid"));
    });
    const before = outputOf(0).length;
    await end("SIGTERM", 0);
    await restart([0]);
    await expectAll("newest");
    expect(outputOf(0).slice(before)).not.toContain("has newer data");
  });

  it("has what a linked replica has, and not the older copy of a server that leads by itself", async () => {
    await replicate("old");
    await call(1, "REPLICAOF", "NO", "ONE");
    await replicate("new", [2]);
    await end("SIGKILL", 0);
    await restart([0]);
    await expectAll("new");
  });

  if (persistence !== APPEND_ONLY_FILE)
    it("waits until silent replicas answer, as long as nobody decides otherwise, and says so", async () => {
      await replicate("new");
      await end("SIGKILL", 0);
      await end("SIGSTOP", 1, 2);
      const restarted = restart([0], "default");
      await eventually("it says what to type", () =>
        Promise.resolve(/waits for .*crash-2.pods \(silent\) .*start without them: kubectl exec/.test(outputOf(0))),
      );
      await end("SIGCONT", 1, 2);
      await restarted;
      await expectAll("new");
      await end("SIGKILL", 0);
      await end("SIGSTOP", 1, 2);
      const decided = restart([0], "default");
      await sleep(4000);
      writeFileSync(join(directoryOf(0), "serve"), "");
      await decided;
      expect(await replication(0, "role")).toBe("master");
      const [kept = ""] = Object.keys(await values(0));
      await end("SIGCONT", 1, 2);
      await expectAll(kept);
    });

  if (persistence === NOTHING) {
    it("has what a replica has that answers late, and not the older copy of another one", async () => {
      await replicate("old");
      await end("SIGSTOP", 2);
      await call(0, "CLIENT", "KILL", "TYPE", "replica");
      await replicate("new", [1]);
      await end("SIGKILL", 0);
      await end("SIGSTOP", 1);
      await end("SIGCONT", 2);
      const restarted = restart([0]);
      // Longer than a machine needs that is busy for a moment.
      await sleep(9000);
      await end("SIGCONT", 1);
      await restarted;
      await expectAll("new");
    });

    it("has what a replica has, and not the older copy of a server that was its primary once", async () => {
      await replicate("old");
      await end("SIGKILL", 0);
      await restart([0]);
      const [helper = 0] = await primaries();
      expect(helper).not.toBe(0);
      await eventually("it has its copy", async () => (await replication(0, "master_link_status")) === "up");
      await end("SIGSTOP", helper);
      await call(0, "CLIENT", "KILL", "TYPE", "primary");
      await ready([0]);
      const other = 3 - helper;
      await eventually("the other one follows", async () => (await replication(other, "master_link_status")) === "up");
      await replicate("new", [other]);
      await end("SIGKILL", 0);
      await end("SIGCONT", helper);
      await restart([0]);
      await expectAll("new");
    });
    // Nothing is left when all are killed.
    return;
  }
  it("has the newest copy that is left when all were killed, and its volume is gone", async () => {
    await replicate("last");
    if (persistence === SNAPSHOTS) await call(2, "SAVE");
    await end("SIGKILL", ...ALL);
    for (const file of ["dump.rdb", "appendonlydir"])
      rmSync(join(directoryOf(0), file), { recursive: true, force: true });
    await restart(ALL);
    await expectAll("last");
  });

  it("comes back with what its replicas have when its own file is damaged", async () => {
    await replicate("last");
    if (persistence === SNAPSHOTS) await call(0, "SAVE");
    await ready();
    await end("SIGKILL", 0);
    const files = join(directoryOf(0), "appendonlydir");
    damage(persistence === SNAPSHOTS ? join(directoryOf(0), "dump.rdb") : newestFile(files));
    await restart([0]).catch(() => undefined);
    await endsByItself(deployment, 0);
    await end("SIGKILL", 0);
    await restart([0]);
    await expectAll("last");
  });

  if (persistence === SNAPSHOTS)
    it("has the newest snapshot of all when it stopped in order before, and all were killed then", async () => {
      await end("SIGTERM", 0);
      await restart([0]);
      await expectAll("last");
      await replicate("latest");
      await call(2, "SAVE");
      await end("SIGKILL", ...ALL);
      await restart(ALL);
      await expectAll("latest");
    });

  if (persistence !== APPEND_ONLY_FILE) return;
  it("keeps what its file has and replicas lack, however old the file seems", async () => {
    await replicate("old");
    await ready();
    await end("SIGSTOP", 1, 2);
    await call(0, "CLIENT", "KILL", "TYPE", "replica");
    await write("alone");
    await eventually("the file has every write", async () =>
      String(await call(0, "INFO", "persistence")).includes("aof_buffer_length:0"),
    );
    await end("SIGKILL", 0);
    await end("SIGCONT", 1, 2);
    for (const file of readdirSync(join(directoryOf(0), "appendonlydir")))
      utimesSync(join(directoryOf(0), "appendonlydir", file), 1000, 1000);
    await restart([0]);
    await expectAll("alone");
  });

  it("has what its replicas have and its file lacks after a power loss, also where both answer late", async () => {
    await replicate("old");
    await eventually("the file has every write", async () =>
      String(await call(0, "INFO", "persistence")).includes("aof_buffer_length:0"),
    );
    const lost = loseLaterWrites(join(directoryOf(0), "appendonlydir"));
    await replicate("new");
    await end("SIGKILL", 0);
    await end("SIGSTOP", 1, 2);
    lost();
    const restarted = restart([0]);
    await sleep(4000);
    await end("SIGCONT", 1, 2);
    await restarted;
    await expectAll("new");
  });

  it("has what a replica has when it died before it had copied anything into its new volume", async () => {
    await replicate("kept");
    const helper = 1;
    await end("SIGKILL", 0, helper);
    await restart([helper]);
    // Longer than the ages of files are rounded.
    await sleep(4000);
    rmSync(join(directoryOf(0), "dump.rdb"), { force: true });
    rmSync(join(directoryOf(0), "appendonlydir"), { recursive: true });
    cpSync(emptyFile(), join(directoryOf(0), "appendonlydir"), { recursive: true });
    await restart([0]);
    await expectAll("kept");
  });
});

describe("the mark of a server with an append-only file", () => {
  beforeAll(() => start(APPEND_ONLY_FILE));
  afterAll(async () => {
    await sandbox.close();
    pods.close();
  });
  const slow = (microseconds: number): Promise<unknown> =>
    call(0, "CONFIG", "SET", "rdb-key-save-delay", String(microseconds));
  const rewrite = async (): Promise<string> =>
    parseInfo(String(await call(0, "INFO", "persistence"))).get("aof_rewrite_in_progress") ?? "";
  async function markAfter(value: string): Promise<{ offset: number; reached: number }> {
    await replicate(value);
    const reached = Number(await replication(0, "master_repl_offset"));
    await keep(0);
    expect(await rewrite()).toBe("1");
    return { offset: Number(mark(0).split(" ")[1]), reached };
  }

  it("is written during a rewrite, but not while a new file is not complete", async () => {
    await replicate("first");
    await slow(30_000);
    await call(0, "BGREWRITEAOF");
    const during = await markAfter("second");
    expect(during.offset).toBeGreaterThanOrEqual(during.reached);
    await eventually("the rewrite ends", async () => (await rewrite()) === "0");
    await call(0, "CONFIG", "SET", "appendonly", "no");
    await call(0, "CONFIG", "SET", "appendonly", "yes");
    const before = await markAfter("third");
    expect(before.offset).toBeLessThan(before.reached);
  });
});

describe("a replica that is linked", () => {
  const MAX_LAG = 10;
  beforeAll(async () => {
    await start(NOTHING);
    await ready();
  });
  afterAll(async () => {
    await sandbox.close();
    pods.close();
  });
  const probeOne = (): Promise<void> => probe(1, { MAX_LAG: String(MAX_LAG) });
  const file = (): string => join(directoryOf(1), "reached");
  const offset = async (): Promise<number> => Number(await replication(1, "slave_repl_offset"));

  it("is ready while it has what the primary had some seconds ago, by what it has noted of it", async () => {
    await replicate("value");
    await probeOne();
    const [[seconds = "", lineage = "", reached = ""] = []] = noted();
    expect(Math.abs(Number(seconds) - uptime())).toBeLessThan(5);
    expect(lineage).toBe(await replication(0, "master_replid"));
    expect(Math.abs(Number(reached) - (await offset()))).toBeLessThan(1000);
    // Since then the primary may have had much more.
    writeFileSync(file(), `${uptime() - MAX_LAG + 5} ${lineage} ${(await offset()) + 100_000}\n`);
    await probeOne();
    expect(noted()).toHaveLength(2);
  });

  it("is not ready when it lacks what the primary had before that, and forgets what is older", async () => {
    const lineage = await replication(0, "master_replid");
    const [far, near] = [(await offset()) + 100_000, 1];
    writeFileSync(file(), `${uptime() - 30} ${lineage} ${near}\n${uptime() - 20} ${lineage} ${far}\n`);
    await expect(probeOne()).rejects.toThrow();
    expect(
      noted()
        .map(([, , reached]) => Number(reached))
        .slice(0, -1),
    ).toEqual([far]);
  });

  it("does not compare its position with one of another history", async () => {
    writeFileSync(file(), `${uptime() - 20} ${"0".repeat(40)} ${(await offset()) + 100_000}\n`);
    await probeOne();
    expect(noted()).toHaveLength(1);
  });

  const noted = (): string[][] =>
    readFileSync(file(), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
});

describe("a designated primary", () => {
  beforeAll(async () => {
    await start(NOTHING);
    await replicate("first");
  });
  afterAll(async () => {
    await sandbox.close();
    pods.close();
  });
  function note(index: number, state: "replaced" | "closed", seconds: number): void {
    writeFileSync(join(directoryOf(index), state), `${BOOT} ${uptime() - seconds}\n`);
  }

  it("has its role back after some minutes where `up` ended before it designated the one that took over", async () => {
    const { host = "", port = 0 } = deployment.nodes[1]?.endpoint ?? {};
    await call(0, "FAILOVER", "TO", host, String(port));
    await eventually("another took over", async () => (await primaries()).join() === "1");
    await ready();
    note(0, "replaced", 200);
    await keep(0);
    await ready();
    expect(await primaries()).toEqual([1]);
    note(0, "replaced", 250);
    await expectAll("first");
  });

  it("listens to clients again where `up` ended before another had taken over", async () => {
    // As in a pod, whose scripts connect to 127.0.0.1.
    pods.find({
      ...deployment,
      nodes: deployment.nodes.map((node, index) =>
        index === 0 ? { ...node, endpoint: { ...node.endpoint, host: "127.0.0.1" } } : node,
      ),
    });
    await withNode(deployment, 0, async (connection) => {
      const bind = async (): Promise<string> =>
        parseFlatReply(await connection.config("GET", "bind")).get("bind") ?? "";
      const former = await bind();
      await connection.call("CONFIG", "SET", "bind", "127.0.0.1 -::1");
      note(0, "closed", 50);
      await keep(0);
      expect(await bind()).toBe("127.0.0.1 -::1");
      note(0, "closed", 70);
      await keep(0);
      expect(await bind()).toBe("* -::*");
      await connection.call("CONFIG", "SET", "bind", former);
    });
    pods.find(deployment);
  });

  it("is whichever one `up` has designated, also when it starts again, and has all that its replicas had", async () => {
    await handOver(deployment, {
      to: nameOf(1),
      lead: () => {
        pods.designate(nameOf(1));
        pods.find(deployment, 1);
        return Promise.resolve();
      },
    });
    await end("SIGKILL", 0);
    await restart([0]);
    await ready();
    await end("SIGKILL", 1);
    await restart([1]);
    await eventually("it is the only primary", async () => (await ready(), (await primaries()).join() === "1"));
    for (const index of ALL) expect(await values(index)).toEqual({ first: KEYS });
  });

  it("asks its replicas again if it died before its file named it, and the Service leads to itself only", async () => {
    pods.designate(nameOf(0));
    await end("SIGKILL", 1);
    await restart([1]);
    expect(await replication(1, "role")).toBe("slave");
    pods.designate(nameOf(1));
    // A server that follows the Service seems to follow a pod here, because both have the same address.
    const toItself = { PRIMARY_SERVICE: `${nameOf(1)}.pods` };
    const ended = async (): Promise<boolean> => {
      await keep(1, toItself).catch(() => undefined);
      return call(1, "PING").then(
        () => false,
        () => true,
      );
    };
    await eventually("it ends", ended, 60_000);
    await restart([1]);
    await eventually("it is the only primary", async () => (await ready(), (await primaries()).join() === "1"));
    for (const index of ALL) expect(await values(index)).toEqual({ first: KEYS });
  });
});
