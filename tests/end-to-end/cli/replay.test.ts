/** `restore --replay-into` as a user has it: keys of an archive in a running deployment. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { formatCopies } from "../../../cli/restoring/replay";
import { pause } from "../../../lib/polling";
import { openDeployment } from "../../../platforms/deployment-reference";
import { KeyWriter } from "../../../backup/restoring/copying/key-writer";
import { replayKeys } from "../../../backup/restoring/copying/replay-keys";
import type { Deployment } from "../../../valkey/deployment";
import { compareRdbs } from "../../../backup/rdb/comparing/compare";
import { sealDump, startDump } from "../../../backup/rdb/dump";
import type { RdbKey } from "../../../backup/rdb/rdb-visitor";
import { readFileInPieces } from "../../../backup/rdb/walk";
import { distributeSlots } from "../../../valkey/topology/slots";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { pulumiWithState, verifiedReference } from "../../support/pulumi/exported-state";
import { archiveOnce, snapshotOf } from "../../support/valkey/archived-deployment";
import { Place } from "../../support/command";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandbox } from "../../support/valkey/hooks";
import { never, withNode, callNode, passwordOf } from "../../support/valkey/real";

// A test has several restores, on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const sandbox = useSandbox();
const place = new Place();
afterAll(() => place.close());
let shop: Deployment;
let cluster: Deployment;
let folder: string;
let saved: string;
beforeAll(async () => {
  shop = await sandbox.replication("shop", 0);
  await withNode(shop, 0, async (primary) => {
    await writeDataSet(primary, 61, 150, { isCluster: true });
    await primary.set("session:1", "x", "PXAT", Date.now() + 10 ** 9);
    await primary.select(3);
    await primary.set("third:1", "x");
  });
  folder = place.output("sets");
  await archiveOnce(shop, folder);
  saved = await snapshotOf(shop, 0, place.directory);
  cluster = await sandbox.formedCluster("cluster", 3, 0);
});
async function call(deployment: Deployment, ...args: readonly string[]): ReturnType<Place["call"]> {
  const { mode, nodes } = deployment;
  const servers = nodes.flatMap(({ endpoint }) => ["--node", `127.0.0.1:${endpoint.port}`]);
  return place.call(["restore", folder, "--replay-into", "--mode", mode, ...servers, ...args], passwordOf(deployment));
}

it("copies the keys of a pattern of database 0 into a cluster, each equal, and keeps those that exist", async () => {
  const args = ["--keys", "{tag*", "--keys", "[0-9]*"];
  const first = await call(cluster, ...args);
  expect(first.status, first.output).toBe(0);
  const [, count = ""] =
    /REPLAY into cluster: PASS — (\d+) copied, 0 kept, 0 expired, 0 differing\./.exec(first.output) ?? [];
  expect(Number(count)).toBeGreaterThan(50);
  const files = await Promise.all([0, 1, 2].map((index) => snapshotOf(cluster, index, place.directory)));
  const compared = await compareRdbs(
    [{ open: () => readFileInPieces(saved), isWanted: ({ key }) => /^({tag|\d)/.test(key.toString("latin1")) }],
    files.map((file, index) => ({
      open: () => readFileInPieces(file),
      ranges: distributeSlots(3).slice(index, index + 1),
    })),
    { scope: "replicated" },
  );
  expect(compared.map(({ differing, keys }) => [differing, keys[0] === keys[1]])).toEqual(
    [0, 1, 2].map(() => [0, true]),
  );
  expect(compared.reduce((sum, { keys }) => sum + keys[1], 0)).toBe(Number(count));
  const second = await call(cluster, ...args);
  expect(second.output).toContain(`PASS — 0 copied, ${count} kept, 0 expired, 0 differing.`);
  const third = await call(cluster, ...args, "--overwrite", "--ttl", "remaining");
  expect(third.status, third.output).toBe(0);
  expect(third.output).toContain(`PASS — ${count} copied, 0 kept, 0 expired, 0 differing.`);
  expect(place.living()).toEqual([]);
});

it("copies keys into the pods of a stack through the API server, also over port-forwards that break", async () => {
  const api = await FakeApiServer.start();
  try {
    const target = api.serve(cluster, { primaries: 3, replicasPerPrimary: 0 });
    const stack = pulumiWithState(place.directory, {
      resources: [verifiedReference(target, cluster.access.password)],
    });
    const args = ["restore", folder, "--replay-into", "--stack", "dev", "--keys", "[0-9]*", "--overwrite"];
    const { status, output } = await place.call(args, stack);
    expect(status, output).toBe(0);
    expect(output).toContain("Connected to cluster (3 shards)");
    const [, count = ""] = /REPLAY into cluster: PASS — (\d+) copied, 0 kept/.exec(output) ?? [];
    const broken: number[] = [];
    const copies = await replayKeys({
      sources: [{ name: "shop", ranges: distributeSlots(1), open: () => readFileInPieces(saved), shiftMs: 0 }],
      target: await openDeployment(target, cluster.access.password),
      isWanted: ({ key }) => /^\d/.test(key.toString("latin1")),
      ...{ overwrite: true, signal: never },
      onProgress: () => {
        if (broken.length === 0) broken.push(api.breakForwards());
      },
    });
    expect(broken[0]).toBeGreaterThanOrEqual(3);
    expect(copies).toEqual({ copied: Number(count), kept: 0, expired: 0, differing: [] });
  } finally {
    api.stop();
  }
});

it("keeps, replaces and names keys, and moves a TTL", async () => {
  const ttl = (): Promise<number> => withNode(shop, 0, (node) => node.pexpiretime("session:1"));
  const before = await ttl();
  await callNode(shop, 0, "SET", "session:1", "changed", "KEEPTTL");
  expect((await call(shop, "--keys", "session:*")).output).toContain("0 copied, 1 kept");
  expect(await withNode(shop, 0, (node) => node.get("session:1"))).toBe("changed");
  const moved = await call(shop, "--keys", "session:*", "--overwrite", "--ttl", "remaining");
  expect(moved.output).toContain("PASS — 1 copied, 0 kept");
  expect(await withNode(shop, 0, (node) => node.get("session:1"))).toBe("x");
  expect(await ttl()).toBeGreaterThan(before);
});

it("counts expired keys, and names a copy that is not what the archive has", async () => {
  const isWanted = ({ key }: RdbKey): boolean => key.toString() === "session:1";
  const ranges = distributeSlots(1);
  const sources = [{ name: "shop", ranges, open: () => readFileInPieces(saved), shiftMs: -(10 ** 10) }];
  expect(await replayKeys({ sources, target: shop, overwrite: true, signal: never, isWanted })).toEqual({
    copied: 0,
    kept: 0,
    expired: 1,
    differing: [],
  });
  // The archive's value differs from the payload that is written, as if the copy were wrong.
  const value = Buffer.from([1, 120]);
  const writer = new KeyWriter(shop, true, never);
  const key = { database: 0, key: Buffer.from("wrong"), slot: 0, type: 0, shiftMs: 0, expiresAt: undefined };
  await writer.write([
    { ...key, archived: value, dump: sealDump(startDump(0, [Buffer.from([1, 121])]).payload) },
    { ...key, key: Buffer.from("right"), archived: value, dump: sealDump(startDump(0, [value]).payload) },
  ]);
  writer.close();
  expect(writer.copies).toEqual({
    copied: 2,
    kept: 0,
    expired: 0,
    differing: [{ database: 0, key: Buffer.from("wrong") }],
  });
  expect(formatCopies("shop", writer.copies)).toEqual([
    '  database 0, key "wrong": different after the copy',
    "REPLAY into shop: FAIL — 2 copied, 0 kept, 0 expired, 1 differing.",
  ]);
});

it("waits until a replica has the copies, but not again for a replica that does not answer", async () => {
  const pair = await sandbox.formedReplication("pair", 1, { "enable-debug-command": "local" });
  const writer = new KeyWriter(pair, true, never);
  const value = Buffer.from([1, 120]);
  const key = {
    ...{ database: 0, slot: 0, type: 0, shiftMs: 0, expiresAt: undefined },
    ...{ archived: value, dump: sealDump(startDump(0, [value]).payload) },
  };
  const waits = async (): Promise<string | undefined> =>
    /cmdstat_wait:calls=(\d+)/.exec(await withNode(pair, 0, (primary) => primary.info("commandstats")))?.[1];
  await writer.write([{ ...key, key: Buffer.from("first") }]);
  expect(await waits()).toBe("1");
  await withNode(pair, 1, async (replica) => {
    const silent = replica.call("DEBUG", "SLEEP", "6");
    await pause(200, never);
    for (const name of ["second", "third"]) await writer.write([{ ...key, key: Buffer.from(name) }]);
    await silent;
  });
  writer.close();
  expect(writer.copies).toEqual({ copied: 3, kept: 0, expired: 0, differing: [] });
  expect(await waits()).toBe("2");
});

it("restores the keys of a pattern into a new cluster, and says so", async () => {
  const args = ["--into", "local", "--mode", "cluster", "--keys", "{tag*", "--ttl", "remaining", "--check"];
  const { status, output } = await place.call(["restore", folder, ...args]);
  expect(status, output).toBe(0);
  expect(output).toMatch(
    /ARCHIVED SHARD .*\nshard-0 +all .*\n\nSHARD +SLOTS .*\nshard-0 +0-5460 .*\nshard-1 .*\nshard-2 +10922-16383 /,
  );
  expect(output).toMatch(/PASS — \d\d+ keys \({tag\*\) of 1 shard, now in 3 shards: .*, with TTLs that are later/);
  const none = await place.call(["restore", folder, "--into", "local", "--keys", "none:*", "--check"]);
  expect(none.status, none.output).toBe(1);
  expect(none.output).toMatch(/nothing was restored: --keys: .* no key matches "none:\*"/);
  expect(place.living()).toEqual([]);
});

it("refuses what does not fit before anything is copied, every problem at once", async () => {
  const bad = async (status: number, ...args: readonly string[]): Promise<string> => {
    const result = await call(cluster, ...args);
    expect(result.status, result.output).toBe(status);
    return result.output;
  };
  // The sets are loaded by then, and status 2 would say that nothing was started.
  expect(await bad(1, "--keys", "none:*")).toMatch(/nothing was copied: --keys: .* no key matches "none:\*"/);
  expect(await bad(1, "--keys", "third:*")).toMatch(/has keys in database 3, and cluster has only databases 0 to 0/);
  const shard: Deployment = { ...cluster, mode: "replication", nodes: cluster.nodes.slice(0, 1) };
  const unlike = await call(shard);
  expect([unlike.status, unlike.output]).toEqual([2, expect.stringContaining("is a node of a cluster, not of")]);
  expect(await bad(2, "--into", "local", "--shards", "3", "--keys", "", "--ttl", "soon")).toMatch(
    /--into does not apply.*\n.*--shards does not apply.*\n.*--keys is "".*\n.*--ttl is "soon": expected absolute or remaining/,
  );
  const wrong = ["--overwrite", "--mode", "both", "--shards", "20000"];
  const none = await place.call(["restore", folder, "--into", "local", ...wrong]);
  expect(none.status).toBe(2);
  expect(none.output).toMatch(
    /--overwrite applies only with --replay-into.*\n.*--mode is "both".*\n.*--shards is "20000": expected .* from 1 to 16384/,
  );
  const stack = await place.call(["restore", folder, "--replay-into", "--mode", "cluster"]);
  expect(stack.output).toMatch(/--replay-into: --node: name every node/);
  expect(place.living()).toEqual([]);
});
