/** `archive`, `backups` and `restore` as a user has them: FLUSHALL is undone to the second before. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Connection, connect } from "../../../valkey/connection";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { compareRdb } from "../../support/valkey/compare-rdb";
import { readFileInPieces } from "../../../backup/rdb/walk";
import { fetchSnapshot } from "../../../backup/replication-stream/snapshot";
import type { Endpoint, NodeAccess } from "../../../valkey/node";
import type { Command } from "../../support/command";
import { hasInstantSince } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandbox, usePlace } from "../../support/valkey/hooks";
import { callNode, eventually, never, passwordOf, serverOptions, withNode } from "../../support/valkey/real";

const sandbox = useSandbox();
const place = usePlace();

const SETTINGS = { "enable-debug-command": "local" };
const ofPrimaries = <T>(deployment: Deployment, use: (connection: Connection) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: deployment.shape.primaries ?? 1 }, (_, index) => withNode(deployment, index, use)));

async function settle(folder: string): Promise<void> {
  const now = Date.now();
  await eventually("the archive has a later time", () => hasInstantSince(new DirectoryStore(folder), now), 60_000);
}

async function stopArchive(command: Command): Promise<string> {
  command.child.kill("SIGINT");
  const { status, output } = await command.ended;
  expect(status, output).toBe(0);
  return output;
}

interface Restored {
  readonly command: Command;
  readonly endpoint: Endpoint;
  readonly access: NodeAccess;
  readonly connection: Connection;
}

async function restored(args: readonly string[]): Promise<Restored> {
  const command = await place.start(["restore", ...args, "--into", "local"]);
  await command.printed(/VALKEYCLI_AUTH.*\n/);
  const [, file = "", port = ""] = /VALKEYCLI_AUTH=\$\(cat (\S+)\).* -p (\d+) /.exec(command.output) ?? [];
  const endpoint = { host: "127.0.0.1", port: Number(port) };
  const access = { password: readFileSync(file, "utf8") };
  return { command, endpoint, access, connection: await connect("restored", endpoint, access) };
}

describe("replication", () => {
  let shop: Deployment;
  beforeAll(async () => {
    shop = await sandbox.formedReplication("shop", 1, SETTINGS);
  });

  it("undoes a FLUSHALL to the second before, and continues an archive that was stopped", async () => {
    const folder = place.output("sets");
    await withNode(shop, 0, (primary) => writeDataSet(primary, 21, 150));
    const archive = await place.start(["archive", ...serverOptions(shop), "--into", folder], passwordOf(shop));
    await archive.printed(/shard-0: base with \d+ keys/);
    // The replica is followed, so the primary has only one replica.
    expect(archive.output).toContain(`following 127.0.0.1:${shop.nodes[1]?.endpoint.port}`);
    await withNode(shop, 0, async (primary) => {
      await writeDataSet(primary, 22, 100);
      await primary.set("short", "x", "PX", 8_000);
    });
    await settle(folder);
    const before = new Date().toISOString();
    await callNode(shop, 0, "SAVE");
    const saved = place.output("before.rdb");
    copyFileSync(join(sandbox.host.servers("shop")[0]?.dataDirectory ?? "", "dump.rdb"), saved);
    await settle(folder);
    await callNode(shop, 0, "FLUSHALL");
    await settle(folder);
    const printed = await stopArchive(archive);
    // Below 1 s on a machine that has time for it.
    expect(Number(/Highest RPO ([\d.]+) s/.exec(printed)?.[1])).toBeLessThan(5);

    const resumed = await place.start(["archive", ...serverOptions(shop), "--into", folder], passwordOf(shop));
    await resumed.printed(/the stream goes on where the archive ended/);
    await callNode(shop, 0, "SET", "after", "the flush");
    await settle(folder);
    await stopArchive(resumed);
    expect(readdirSync(folder).sort()).toEqual([expect.stringMatching(/^2/), "archive.json"]);

    const list = await place.call(["backups", folder]);
    expect(list.status, list.output).toBe(0);
    expect(list.output).toMatch(/shard-0 .* \d+ {2}.*Can be restored: any time from \S+Z to \S+Z/s);

    const { command, connection, endpoint, access } = await restored([folder, "--at", before, "--replicas", "1"]);
    expect(command.output).toMatch(
      /RESTORE replication: PASS — \d+ keys of 1 shard: every key, value and TTL is the same/,
    );
    // The key `short` has expired since.
    expect(command.output).toMatch(/restored-0 +\d+ +1 +0\n.*restored-1 +\d+ +1 +0\n/);
    // The comparison lacks a key, so it proves too little.
    expect(command.output).toContain("No proof is recorded, because keys that have expired were not compared");
    expect((await place.call(["backups", folder])).output).toContain("Never restored with proof");
    const found = place.output("restored.rdb");
    await fetchSnapshot({ name: "restored", endpoint, access }, found, never);
    const comparison = await compareRdb(
      () => readFileInPieces(saved),
      () => readFileInPieces(found),
      { scope: "source", expiredBy: Date.now() },
    );
    expect(comparison).toMatchObject({ isEqual: true, expired: 1 });
    expect(comparison.keys[0]).toBeGreaterThan(150);
    connection.disconnect();
    command.child.kill("SIGINT");
    expect((await command.ended).status).toBe(0);
    expect(place.living()).toEqual([]);

    const latest = await place.call(["restore", folder, "--into", "local", "--check"]);
    expect(latest.status, latest.output).toBe(0);
    expect(latest.output).toContain("PASS — 1 key of 1 shard");
    expect(place.living()).toEqual([]);

    const bad = async (...args: readonly string[]): Promise<string> => {
      const { status, output } = await place.call(args);
      expect(status, output).toBe(2);
      return output;
    };
    expect(await bad("restore", folder, "--into", "mars", "--at", "2001-01-01T00:00:00Z", "--replicas", "9")).toMatch(
      /- --into is "mars".*\n.*- --replicas is "9".*\n.*- --at: 2001.*nearest times .* are 2\S+Z after it/,
    );
    expect(await bad("restore", folder, "--into", "local", "--at", "2101-01-01T00:00:00Z")).toMatch(
      /2101\S+ cannot be restored; .* are \S+Z before it/,
    );
    const [period = ""] = readdirSync(folder);
    const [set = ""] = readdirSync(join(folder, period, "shard-0"));
    const manifest = join(folder, period, "shard-0", set, "base.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"serverVersion":"[^"]*"/, '"serverVersion":"99.1.0"'));
    expect(await bad("restore", folder, "--into", "local")).toMatch(/version 99\.1\.0 wrote it.*set VALKEY_HOME/);
    writeFileSync(manifest, text.replace(/"version":\d+/, '"version":7'));
    expect((await place.call(["backups", folder])).output).toMatch(/DAMAGED .*a newer version of this program/);
    expect(place.living()).toEqual([]);
  });

  it("refuses folders that are not its own, and says everything that is wrong at once", async () => {
    const bad = async (...args: readonly string[]): Promise<string> => {
      const { status, output } = await place.call(args, passwordOf(shop));
      expect(status, output).toBe(2);
      return output;
    };
    expect(await bad("archive", "--mode", "replication", "--for", "soon", "--base-every", "2s")).toMatch(
      /--into: name the folder[\s\S]*--for is "soon"[\s\S]*--base-every is "2s"[\s\S]*--node: name every node/,
    );
    expect(await bad("backups", place.output("none"))).toContain("there is no archive");
    const full = place.output("full");
    mkdirSync(full);
    writeFileSync(join(full, "letter"), "text");
    expect(await bad("archive", ...serverOptions(shop), "--into", full)).toContain("has other files and no archive");
    const other = place.output("other");
    mkdirSync(other);
    writeFileSync(
      join(other, "archive.json"),
      JSON.stringify({ version: 1, deployment: "replication", mode: "replication", nodes: ["10.0.0.1:6379"] }),
    );
    expect(await bad("archive", ...serverOptions(shop), "--into", other)).toContain("sets of a different deployment");
    expect(readdirSync(other)).toEqual(["archive.json"]);
    const fresh = place.output("fresh");
    const [port = 0] = shop.nodes.map(({ endpoint }) => endpoint.port);
    const twice = ["--node", `127.0.0.1:${port}`, "--node", `localhost:${port}`];
    expect(await bad("archive", "--mode", "replication", ...twice, "--into", fresh)).toMatch(
      /^servers: --node: .* are the same server; name it once\n$/,
    );
    expect(existsSync(fresh)).toBe(false);
    const blocked = join(full, "letter", "spool");
    expect(await bad("archive", ...serverOptions(shop), "--into", fresh, "--spool", blocked)).toContain(
      "--spool: ENOTDIR",
    );
    // The lease is released.
    expect(readdirSync(fresh)).toEqual([]);
  });
});

describe("cluster", () => {
  it("undoes a FLUSHALL in three shards, with keys equal in each", async () => {
    const cluster = await sandbox.formedCluster("cluster", 3, 0, SETTINGS);
    const folder = place.output("sets");
    const write = (seed: number): Promise<unknown> =>
      ofPrimaries(cluster, (primary) => writeDataSet(primary, seed, 100, { isCluster: true }));
    await write(31);
    const shard = serverOptions({ ...cluster, mode: "replication", nodes: cluster.nodes.slice(0, 1) });
    const refused = await place.call(["archive", ...shard, "--into", folder], passwordOf(cluster));
    expect([refused.status, refused.output]).toEqual([
      2,
      expect.stringMatching(/^servers: \S+ is a node of a cluster, not of a replication; give the mode cluster .*\n$/),
    ]);
    expect(existsSync(folder)).toBe(false);
    const archive = await place.start(["archive", ...serverOptions(cluster), "--into", folder], passwordOf(cluster));
    for (const shard of [0, 1, 2]) await archive.printed(new RegExp(`shard-${shard}: base with \\d+ keys`));
    await write(32);
    await settle(folder);
    const keys = await ofPrimaries(cluster, (primary) => primary.dbsize());
    const before = new Date().toISOString();
    await settle(folder);
    await ofPrimaries(cluster, (primary) => primary.flushall());
    await settle(folder);
    await stopArchive(archive);
    const { command, connection } = await restored([folder, "--at", before]);
    const total = keys.reduce((sum, each) => sum + each, 0);
    expect(command.output).toContain(`PASS — ${total} keys of 3 shards`);
    expect(command.output).toMatch(/The instants of the shards are within \d+ ms/);
    expect(await connection.cluster("INFO")).toContain("cluster_slots_ok:16384");
    expect(await connection.dbsize()).toBe(keys[0]);
    connection.disconnect();
    command.child.kill("SIGINT");
    expect((await command.ended).status).toBe(0);
  });
});
