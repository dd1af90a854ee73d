/** The stream to a replica, archived and restored: at the end, at an instant, over lost connections and failovers. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type TestContext, describe, expect, it, vi } from "vitest";
import type { Programs } from "../../../platforms/host/programs/programs";
import { loadingProblem } from "../../../backup/restoring/loading";
import { archiveDeployment } from "../../../backup/archive/archive-deployment";
import type { ArchiveEvent } from "../../../backup/archive/archive-shard";
import { resumePoint } from "../../../backup/archive/archive-writer";
import { writeManifest } from "../../../backup/archive/checked-file";
import { materialize, restorePoint } from "../../../backup/archive/materialize";
import type { ArchiveSet } from "../../../backup/archive/manifests";
import { listPeriods, nextName, shardStore } from "../../../backup/archive/periods";
import { listSets, readSet } from "../../../backup/archive/sets";
import { DirectoryStore } from "../../../backup/archive/store";
import { compareRdb } from "../../support/valkey/compare-rdb";
import { readFileInPieces } from "../../../backup/rdb/walk";
import { connect } from "../../../valkey/connection";
import { CommandParser } from "../../../backup/replication-stream/command-parser";
import { followStream } from "../../../backup/replication-stream/follow";
import type { StreamSource } from "../../../backup/replication-stream/replica-link";
import { archiveOnce } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { followServer } from "../../support/valkey/followed-server";
import { fillingStore } from "../../support/valkey/filling-store";
import { useSandbox } from "../../support/valkey/hooks";
import { eventually, realPrograms, withNode, callNode } from "../../support/valkey/real";
import type { ServerProcess } from "../../support/valkey/server-process";
import { digests, programsOf, save, startServer, VERSIONS } from "../../support/valkey/server-process";
import { startTlsServer } from "../../support/valkey/tls-server";

const sandbox = useSandbox();
let number = 0;

const freshDirectory = (): string => {
  const path = join(sandbox.host.run.path, `archive-${number++}`);
  mkdirSync(path);
  return path;
};
const sourceOf = ({ endpoint, access }: ServerProcess): StreamSource => ({ name: "followed", endpoint, access });

async function offsetOf({ connection }: ServerProcess): Promise<number> {
  return Number(/^master_repl_offset:(\d+)/m.exec(await connection.info("replication"))?.[1]);
}

const digestOf = async ({ connection }: ServerProcess): Promise<unknown> => connection.call("DEBUG", ["DIGEST"]);

async function waitForReplicas({ connection }: ServerProcess, count: number): Promise<void> {
  await eventually("the server sends its stream", async () => {
    const text = await connection.info("replication");
    return (text.match(/state=online/g) ?? []).length >= count;
  });
}

/** Settings of a server that loads a restored directory. It refuses commands or transactions without an end. */
const LOADED = { appendonly: "yes", "aof-load-truncated": "no" };

/** Loads a data directory, and says what the server holds. `file` is an RDB file with it. */
async function load(
  programs: Programs,
  directory: string,
): Promise<{ digest: unknown; keys: Map<string, string>; file: string }> {
  const server = await startServer(sandbox, programs, directory, LOADED);
  try {
    expect(loadingProblem("restored-0", await server.connection.info("stats"))).toBeUndefined();
    return { digest: await digestOf(server), keys: await digests(server), file: await save(server) };
  } finally {
    await server.kill();
  }
}

describe.each(VERSIONS)("%s", (version) => {
  // Both ways of sending the RDB file are tested with the newest version. Older ones send it in the same forms.
  it.for(version === "Valkey 9.1" ? ["no", "yes"] : ["yes"])(
    "undoes a FLUSHALL to the instant before (diskless: %s)",
    async (diskless, context: TestContext) => {
      const programs = (await programsOf(version)) ?? context.skip(`${version} cannot be had here`);
      const server = await startServer(sandbox, programs, freshDirectory(), {
        "repl-diskless-sync": diskless,
        "repl-backlog-size": "16mb",
      });
      const { connection } = server;
      await writeDataSet(connection, 11, 150);
      const archive = followServer(freshDirectory(), () => sourceOf(server));
      await waitForReplicas(server, 1);
      await writeDataSet(connection, 12, 150);
      for (let value = 0; value < 50; value++) {
        await connection.multi().incr("counter").rpush("log", `${value}`).exec();
        if (value === 25) await connection.call("CLIENT", ["KILL", "TYPE", "replica"]);
      }
      await connection.eval("redis.call('SET', KEYS[1], ARGV[1]) redis.call('EXPIRE', KEYS[1], 5000)", 1, "lua", "x");
      // The server asks its replicas for an acknowledgement.
      expect(await connection.wait(1, 5000)).toBe(1);
      await archive.reached(await offsetOf(server));
      const [before, digest, keys] = [Date.now(), await digestOf(server), await digests(server)];
      const file = await save(server);
      await sleep(300);
      await connection.flushall();
      await connection.set("after", "the flush");
      await archive.reached(await offsetOf(server));
      await archive.stop();
      expect(archive.kinds).toEqual(["base", "base-end", "continued"]);
      const set = await archive.newestSet();
      const target = freshDirectory();
      const point = restorePoint(set, before);
      expect(point.at).toBeLessThanOrEqual(before);
      await materialize(archive.store, set, point, target);
      const loaded = await load(programs, target);
      expect(loaded.keys).toEqual(keys);
      expect(loaded.digest).toBe(digest);
      // The digest of the server lacks times of TTLs, fields' TTLs, consumer groups and functions.
      const comparison = await compareRdb(
        () => readFileInPieces(file),
        () => readFileInPieces(loaded.file),
        { scope: "source" },
      );
      expect(comparison).toMatchObject({ isEqual: true, first: [], libraries: [] });
      expect(comparison.keys[0]).toBeGreaterThan(200);
      const last = set.increments.at(-1)?.instants.at(-1)?.[0] ?? 0;
      const end = freshDirectory();
      await materialize(archive.store, set, restorePoint(set, last), end);
      expect([...(await load(programs, end)).keys.keys()]).toEqual(["after"]);
      await server.kill();
    },
  );
});

it("never restores a part of a transaction, at any instant", async () => {
  const programs = await realPrograms();
  const server = await startServer(sandbox, programs, freshDirectory());
  const archive = followServer(freshDirectory(), () => sourceOf(server));
  await waitForReplicas(server, 1);
  // Long enough to arrive in several pieces.
  const long = "x".repeat(500_000);
  for (let value = 1; value <= 200; value++) {
    await server.connection.multi().set("a", value).set("long", long).set("b", value).exec();
    await sleep(5);
  }
  await archive.reached(await offsetOf(server));
  await archive.stop();
  const set = await archive.newestSet();
  const instants = set.increments.flatMap((increment) => increment.instants);
  expect(instants.length).toBeGreaterThan(5);
  const target = freshDirectory();
  const [end] = instants.at(-1) ?? [];
  await materialize(archive.store, set, restorePoint(set, end ?? 0), target);
  const stream = readFileSync(join(target, "appendonlydir", "appendonly.aof.1.incr.aof"));
  for (const [, offset] of instants) {
    const names = new CommandParser().push(stream.subarray(0, offset - set.base.offset)).map(({ name }) => name);
    expect(names.filter((name) => name === "MULTI").length).toBe(names.filter((name) => name === "EXEC").length);
  }
  const loaded = await startServer(sandbox, programs, target, LOADED);
  expect(await loaded.connection.mget("a", "b")).toEqual(["200", "200"]);
  await loaded.kill();
  await server.kill();
});

it("continues after a failover without a new base, and after its own end where it stopped", async () => {
  const programs = await realPrograms();
  const primary = await startServer(sandbox, programs, freshDirectory());
  const replica = await startServer(sandbox, programs, freshDirectory());
  await replica.connection.call("REPLICAOF", ["127.0.0.1", String(primary.endpoint.port)]);
  await waitForReplicas(primary, 1);
  const directory = freshDirectory();
  let followed = primary;
  const archive = followServer(directory, () => sourceOf(followed));
  await waitForReplicas(primary, 2);
  await primary.connection.select(2);
  await primary.connection.set("before", "1");
  await archive.reached(await offsetOf(primary));
  await eventually("the replica has everything", async () => (await offsetOf(replica)) === (await offsetOf(primary)));
  await primary.kill();
  followed = replica;
  await replica.connection.call("REPLICAOF", ["NO", "ONE"]);
  await replica.connection.select(2);
  await replica.connection.set("after", "2");
  await archive.reached(await offsetOf(replica));
  expect(archive.kinds).toEqual(["base", "base-end", "continued"]);
  await archive.stop();
  await replica.connection.set("meanwhile", "3");
  const resumed = followServer(directory, () => sourceOf(replica), await archive.newestSet());
  await resumed.reached(await offsetOf(replica));
  await resumed.stop();
  expect(resumed.kinds).toEqual(["continued"]);
  const set = await resumed.newestSet();
  const target = freshDirectory();
  const last = set.increments.at(-1)?.instants.at(-1)?.[0] ?? 0;
  await materialize(resumed.store, set, restorePoint(set, last), target);
  const loaded = await startServer(sandbox, programs, target, LOADED);
  expect(await digests(loaded, 2)).toEqual(await digests(replica, 2));
  expect((await digests(loaded, 2)).size).toBe(3);
  await Promise.all([loaded.kill(), replica.kill()]);
});

it("restores into the database that a followed replica had selected before the base", async () => {
  const programs = await realPrograms();
  const primary = await startServer(sandbox, programs, freshDirectory());
  const replica = await startServer(sandbox, programs, freshDirectory());
  await replica.connection.call("REPLICAOF", ["127.0.0.1", String(primary.endpoint.port)]);
  await waitForReplicas(primary, 1);
  await primary.connection.select(5);
  await primary.connection.set("before", "1");
  await eventually("the replica has everything", async () => (await offsetOf(replica)) === (await offsetOf(primary)));
  const directory = freshDirectory();
  const archive = followServer(directory, () => sourceOf(replica));
  await waitForReplicas(replica, 1);
  await primary.connection.set("after", "2");
  await archive.reached(await offsetOf(primary));
  await archive.stop();
  await primary.connection.set("later", "3");
  await eventually("the replica has everything", async () => (await offsetOf(replica)) === (await offsetOf(primary)));
  const resumed = followServer(directory, () => sourceOf(replica), await archive.newestSet());
  await resumed.reached(await offsetOf(replica));
  await resumed.stop();
  expect(resumed.kinds).toEqual(["continued"]);
  const set = await resumed.newestSet();
  expect([set.base.database, ...set.increments.map((each) => each.database)]).not.toContain(0);
  const target = freshDirectory();
  const last = set.increments.at(-1)?.instants.at(-1)?.[0] ?? 0;
  await materialize(resumed.store, set, restorePoint(set, last), target);
  const loaded = await startServer(sandbox, programs, target, LOADED);
  expect([...(await digests(loaded, 5)).keys()].sort()).toEqual(["after", "before", "later"]);
  expect((await digests(loaded, 0)).size).toBe(0);
  await Promise.all([loaded.kill(), replica.kill(), primary.kill()]);
});

it("sees that a server has refused a command of its append-only file", async () => {
  const programs = await realPrograms();
  const directory = freshDirectory();
  const files = join(directory, "appendonlydir");
  mkdirSync(files);
  writeFileSync(join(files, "appendonly.aof.1.incr.aof"), "*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n");
  writeFileSync(join(files, "appendonly.aof.manifest"), "file appendonly.aof.1.incr.aof seq 1 type i\n");
  const loaded = await startServer(sandbox, programs, directory, LOADED);
  expect(loadingProblem("restored-0", await loaded.connection.info("stats"))).toContain("refused 1 command of its set");
  await loaded.kill();
});

it("ends with the error of its last increment when that cannot be written after the stop", async () => {
  const deployment = await sandbox.replication("full-disk", 0);
  let isFull = false;
  const directory = freshDirectory();
  const stop = new AbortController();
  let hasBase = false;
  const archived = archiveDeployment({
    store: fillingStore(join(directory, "archive"), () => isFull),
    deployment,
    spoolDirectory: join(directory, "spool"),
    signal: stop.signal,
    onEvent: ({ kind }) => {
      hasBase ||= kind === "written";
    },
  });
  const outcome = archived.then(
    () => "ended",
    (error: unknown) => String(error),
  );
  await eventually("the base is written", () => hasBase);
  await withNode(deployment, 0, async (connection) => {
    for (let value = 0; value < 200; value++) {
      await connection.set("key", value);
      await sleep(5);
      if (value !== 150) continue;
      isFull = true;
      stop.abort(new Error("stopped"));
    }
  });
  expect(await outcome).toMatch(/shard-0: ENOSPC/);
});

it("refuses damaged files and directories that have data", async () => {
  const programs = await realPrograms();
  const server = await startServer(sandbox, programs, freshDirectory());
  const archive = followServer(freshDirectory(), () => sourceOf(server));
  await waitForReplicas(server, 1);
  await server.connection.set("key", "value");
  await archive.reached(await offsetOf(server));
  await archive.stop();
  await server.kill();
  const set = await archive.newestSet();
  const point = restorePoint(set, set.increments.at(-1)?.instants.at(-1)?.[0] ?? 0);
  expect(() => restorePoint(set, 0)).toThrow(/is before its first instant/);
  expect(() => restorePoint(set, Date.now() + 10 ** 6)).toThrow(/is after its last instant/);
  const occupied = freshDirectory();
  mkdirSync(join(occupied, "appendonlydir"));
  await expect(materialize(archive.store, set, point, occupied)).rejects.toThrow(/exists already/);
  const { path } = archive.store as unknown as { path: string };
  appendFileSync(join(path, set.name, "base.rdb"), "x");
  const target = freshDirectory();
  await expect(materialize(archive.store, set, point, target)).rejects.toThrow(/base.rdb is damaged/);
  expect(readdirSync(join(target, "appendonlydir"))).toEqual([]);
});

it("ends with an error when the spool is full, and the server keeps nothing for it", async () => {
  const programs = await realPrograms();
  const server = await startServer(sandbox, programs, freshDirectory());
  const spoolDirectory = freshDirectory();
  const options = { spoolDirectory, spoolLimit: 10 ** 6, signal: new AbortController().signal };
  const stream = followStream({ ...options, source: () => sourceOf(server) });
  expect((await stream.next()).value).toMatchObject({ event: { kind: "base" } });
  await waitForReplicas(server, 1);
  for (let value = 0; value < 40; value++) await server.connection.set("key", "x".repeat(100_000));
  await eventually("the server has no replica", async () =>
    (await server.connection.info("replication")).includes("connected_slaves:0"),
  );
  const drain = async (): Promise<void> => {
    for await (const item of stream) expect(item.bytes.length).toBeLessThan(10 ** 6);
  };
  await expect(drain()).rejects.toThrow(/the spool is full: 1000000 bytes/);
  expect(readdirSync(spoolDirectory)).toEqual([]);
  await server.kill();
});

it("speaks TLS, logs in as a user, and says what the user lacks", async () => {
  const directory = freshDirectory();
  const users = join(directory, "users.acl");
  writeFileSync(
    users,
    "user default on >secret ~* &* +@all\nuser archive on >word +psync +replconf +ping +info\nuser weak on >word +replconf +ping +info\n",
  );
  const server = await startTlsServer(sandbox, join(directory, "tls"), {
    aclfile: users,
    requirepass: "secret",
    "repl-diskless-sync-delay": "0",
  });
  const endpoint = { host: "127.0.0.1", port: server.port };
  const tls = { cacert: server.certificate, insecure: false };
  const admin = await connect("admin", endpoint, { password: "secret", tls });
  await admin.set("key", "value");
  const first = async (username: string, password = "word"): Promise<string[]> => {
    const stop = new AbortController();
    const kinds: string[] = [];
    const source = (): StreamSource => ({ name: "shop-0", endpoint, access: { username, password, tls } });
    try {
      for await (const { event } of followStream({
        source,
        spoolDirectory: directory,
        spoolLimit: 10 ** 7,
        signal: stop.signal,
      })) {
        kinds.push(event.kind);
        if (event.kind === "base-end") break;
      }
    } finally {
      stop.abort();
    }
    return kinds;
  };
  expect((await first("archive")).at(-1)).toBe("base-end");
  await expect(first("weak")).rejects.toThrow(/shop-0 .*NOPERM.*psync/);
  await expect(first("archive", "wrong")).rejects.toThrow(/shop-0 .*refuses the password/);
  admin.disconnect();
  server.stop();
});

it("follows the machine's clock when it is set forward and back, and says so", async () => {
  const deployment = await sandbox.replication("clock", 0);
  const store = new DirectoryStore(freshDirectory());
  const stop = new AbortController();
  const events: ArchiveEvent[] = [];
  const archiving = archiveDeployment({
    ...{ store, deployment, spoolDirectory: freshDirectory(), signal: stop.signal },
    onEvent: (event) => events.push(event),
  });
  const [realNow, spy] = [Date.now.bind(Date), vi.spyOn(Date, "now")];
  await eventually("the base is written", () => events.some(({ kind }) => kind === "written"));
  const onlyShard = async (): Promise<ReturnType<typeof shardStore>> => {
    const [period] = await listPeriods(store);
    return shardStore(store, { name: period?.name ?? "" }, "shard-0");
  };
  const onlySet = async (): Promise<ArchiveSet> => {
    const shard = await onlyShard();
    const names = await listSets(shard);
    expect(names).toHaveLength(1);
    return readSet(shard, names[0] ?? "none");
  };
  /** Writes for a second, and returns the last value with its time by the machine's clock. */
  const write = async (value: string, setByMs: number): Promise<{ value: string; at: number }> => {
    spy.mockImplementation(() => realNow() + setByMs);
    await withNode(deployment, 0, async (connection) => {
      for (let number = 0; number < 100; number++) {
        await connection.set("key", `${value}-${number}`);
        await sleep(10);
      }
      // The time of a write is the time at which the archive received it.
      expect(await connection.wait(1, 10_000)).toBe(1);
    });
    // What arrives within 100 ms shares one instant, whose time is the last arrival.
    await sleep(200);
    const at = Date.now();
    // A later write keeps this time in the archive. A quiet time ends when the clock is set back.
    await callNode(deployment, 0, "SET", "later", value);
    const isCovered = async (): Promise<boolean> => {
      restorePoint(await onlySet(), at);
      return true;
    };
    await eventually("the archive has this time", () => isCovered().catch(() => false));
    return { value: `${value}-99`, at };
  };
  const hour = 3_600_000;
  const written: { value: string; at: number }[] = [];
  try {
    for (const [value, setByMs] of [
      ["before", 0],
      ["forward", hour],
      ["back", -hour],
    ] as const)
      written.push(await write(value, setByMs));
    // A quiet time is in the archive, too.
    await sleep(1_000);
  } finally {
    stop.abort(new Error("stopped"));
    // The clock that comes back is a step, too.
    await archiving.finally(() => {
      spy.mockRestore();
    });
  }
  const steps = events.flatMap((event) => (event.kind === "clock" ? [Math.round(event.stepMs / hour)] : []));
  expect(steps).toEqual([1, -2]);
  const set = await onlySet();
  for (const { value, at } of written) {
    const target = freshDirectory();
    await materialize(await onlyShard(), set, restorePoint(set, at), target);
    const loaded = await startServer(sandbox, await realPrograms(), target, LOADED);
    expect(await loaded.connection.get("key")).toBe(value);
    await loaded.kill();
  }
});

it("continues the newest set that has an instant", async () => {
  const deployment = await sandbox.replication("resumed", 0);
  const folder = freshDirectory();
  const restore = await archiveOnce(deployment, folder);
  const [{ store, set } = {}] = restore.shards;
  if (store === undefined || set === undefined) throw new Error("there is no set");
  // A later base that failed before its first instant. The server has no commands of it any more.
  const later = `${nextName([set.name], 0)}-1`;
  await store.put(`${later}/base.rdb`, [Buffer.from("REDIS")]);
  await writeManifest(store, `${later}/base.json`, { ...set.base, offset: 1, replid: "0".repeat(40) });
  await callNode(deployment, 0, "SET", "key", "later");
  const again = await archiveOnce(deployment, folder).catch((error: unknown) => error);
  expect(again).toMatchObject({ shards: [{ set: { name: set.name } }] });
  expect(await listSets(store)).toEqual([set.name, later]);
  expect(resumePoint(await readSet(store, set.name)).position.offset).toBeGreaterThan(set.base.offset);
});

it("ends all shards when one fails while a base of a different shard is being written", async () => {
  const deployment = await sandbox.formedCluster("failing", 3, 0);
  let [isFull, isHeld, bases] = [false, false, 0];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const store = new DirectoryStore(freshDirectory());
  const create = store.create.bind(store);
  store.create = async (name) => {
    if (isFull && /shard-0.*\.aof$/.test(name)) throw new Error("ENOSPC");
    const file = await create(name);
    // The first base of the shard is written. The second one takes long.
    if (!/shard-1.*base\.rdb$/.test(name) || bases++ === 0) return file;
    const write = async (bytes: Buffer): Promise<void> => {
      isHeld = true;
      await released;
      await file.write(bytes);
    };
    return { commit: () => file.commit(), discard: () => file.discard(), write };
  };
  const archiving = archiveDeployment({
    ...{ store, deployment, spoolDirectory: freshDirectory(), baseEveryMs: 1_000 },
    signal: new AbortController().signal,
    onEvent: () => undefined,
  });
  const outcome = archiving.catch(String);
  await eventually("the second base of shard-1 begins", () => isHeld);
  // The set of shard-0 is now old enough for a new base, too.
  await sleep(1_200);
  isFull = true;
  await withNode(deployment, 0, async (connection) => {
    for (let number = 0; number < 20; number++) {
      await connection.function(
        "LOAD",
        "REPLACE",
        `#!lua name=lib\nredis.register_function('f', function() return ${number} end)`,
      );
      await sleep(50);
    }
  });
  await eventually("shard-1 is no longer followed", async () =>
    withNode(deployment, 1, async (connection) =>
      (await connection.info("replication")).includes("connected_slaves:0"),
    ),
  );
  release();
  expect(await outcome).toMatch(/shard-0: ENOSPC/);
});
