/** New deployments that are filled with archived data, and compared with them. */
import { randomBytes } from "node:crypto";
import calculateSlot from "cluster-key-slot";
import { beforeAll, expect, it, vi } from "vitest";
import { stagingProcesses } from "../../../backup/restoring/start-restored";
import type { Restore } from "../../../backup/archive/catalog";
import type { Deployment } from "../../../valkey/deployment";
import { sealDump, startDump } from "../../../backup/rdb/dump";
import { TYPE } from "../../../backup/rdb/rdb-format";
import { BulkWriter } from "../../../backup/restoring/filling/bulk-writer";
import type { CopiedKey } from "../../../backup/restoring/key-reader";
import { type Filled, type FillOrder, fillDeployment } from "../../../backup/restoring/filling/fill-deployment";
import { removeFilled } from "../../../backup/restoring/filling/filled-key";
import { KeySelection } from "../../../backup/restoring/key-selection";
import type { RestoreOptions } from "../../../backup/restoring/loading";
import { archiveFolder, archiveOnce } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandboxes } from "../../support/valkey/hooks";
import { type Sandbox, callNode, eventually, never, olderPrograms, withNode } from "../../support/valkey/real";

const OPTIONS = { signal: never, report: () => undefined };
const FAR = Date.now() + 10 ** 9;
// A test has several restores, on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let source: Sandbox;
let shop: Deployment;
let archived: Restore;
const { open: newSandbox } = useSandboxes();
beforeAll(async () => {
  source = await newSandbox();
  shop = await source.replication("shop", 0);
  await withNode(shop, 0, async (primary) => {
    await writeDataSet(primary, 71, 300);
    await primary.set("{tag}ttl", "1", "PXAT", FAR);
    await primary.hset("{tag}fields", { a: 1, b: 2 });
    await primary.call("HPEXPIREAT", ["{tag}fields", FAR, "FIELDS", 1, "b"]);
    await primary.set("large", randomBytes(20_000_000));
  });
  archived = await archiveOnce(shop, archiveFolder(source));
});

const newCluster = (sandbox: Sandbox, replicas: number, settings = {}): Promise<Deployment> =>
  sandbox.formedCluster("new", 3, replicas, settings);
const newPair = (sandbox: Sandbox): Promise<Deployment> => sandbox.formedReplication("one", 1);
const FOUR = { "cluster-databases": 4 };
const runs: string[] = [];

async function fill(
  target: Deployment,
  order: Partial<FillOrder> = {},
  options: Partial<RestoreOptions> = {},
): Promise<Filled> {
  const { host } = await newSandbox();
  runs.push(host.run.path);
  const filled = await fillDeployment(
    target,
    {
      restored: archived,
      keys: new KeySelection(),
      ttl: "absolute",
      continues: undefined,
      onBegin: () => undefined,
      ...order,
    },
    stagingProcesses(host),
    { ...OPTIONS, ...options },
  );
  // As a caller does when it has the result.
  await removeFilled(target);
  return filled;
}

const keysIn = async (deployment: Deployment): Promise<number> => {
  const counts = deployment.nodes.map((_, index) =>
    withNode(deployment, index, async (node) => {
      const text = await node.info("keyspace");
      return [...text.matchAll(/keys=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    }),
  );
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
};

it("fills three shards with replicas from one, and one server from the three, with every database and function", async () => {
  const sandbox = await newSandbox();
  const cluster = await newCluster(sandbox, 1, FOUR);
  const times: number[] = [];
  const filled = await fill(cluster, { onBegin: (time) => void times.push(time) });
  expect(filled.comparisons.map(({ shard, comparison }) => [shard, comparison.isEqual])).toEqual(
    ["shard-0", "shard-0", "shard-1", "shard-1", "shard-2", "shard-2"].map((shard) => [shard, true]),
  );
  const original = await keysIn(shop);
  expect(original).toBeGreaterThan(250);
  expect(filled.result.keys).toBe(original);
  expect(await keysIn(cluster)).toBe(2 * original);
  expect(filled.result.shards).toEqual([
    { name: "shard-0", at: new Date(archived.shards[0]?.point.at ?? 0).toISOString() },
  ]);
  expect(times).toHaveLength(1);
  await expect(fill(cluster)).rejects.toThrow(
    /^restoreFrom: new has data already: \d+ keys on one server and 1 library of functions; .*only a new deployment/,
  );
  const again = await fill(cluster, { continues: times[0] });
  expect(again.result.keys).toBe(original);
  const second = await archiveOnce(cluster, archiveFolder(sandbox));
  const one = await newPair(await newSandbox());
  const back = await fill(one, { restored: second });
  expect(back.comparisons.map(({ server, comparison }) => [server, comparison.isEqual])).toEqual([
    ["one-0", true],
    ["one-1", true],
  ]);
  expect(back.result.keys).toBe(original);
  expect(await withNode(one, 0, (node) => node.call("FCALL", ["double", "0", "21"]))).toBe(42);
});

function onFirstKeys(act: () => void): Partial<RestoreOptions> {
  let isDone = false;
  return {
    report: (line) => {
      if (isDone || !/writing keys: [1-9]/.test(line)) return;
      isDone = true;
      act();
    },
  };
}

it("is interrupted in the middle, and continues with the same TTLs", async () => {
  const cluster = await newCluster(await newSandbox(), 0, FOUR);
  const stop = new AbortController();
  const times: number[] = [];
  const order = { ttl: "remaining", onBegin: (time: number) => void times.push(time) } as const;
  const options = onFirstKeys(() => {
    stop.abort(new Error("interrupted"));
  });
  await expect(fill(cluster, order, { ...options, signal: stop.signal })).rejects.toThrow("interrupted");
  const written = await keysIn(cluster);
  const all = await keysIn(shop);
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(all);
  const filled = await fill(cluster, { ...order, continues: times[0] });
  expect(times[1]).toBe(times[0]);
  expect(filled.result.keys).toBe(all);
  const moved = Math.round((times[0] ?? 0) - (archived.shards[0]?.point.at ?? 0));
  const owner = await ownerOf(cluster, "{tag}ttl");
  await withNode(cluster, owner, async (node) => {
    expect(await node.pexpiretime("{tag}ttl")).toBe(FAR + moved);
    expect(await node.call("HPEXPIRETIME", ["{tag}fields", "FIELDS", 1, "b"])).toEqual([FAR + moved]);
  });
});

async function ownerOf(cluster: Deployment, key: string): Promise<number> {
  const found = await Promise.all(
    cluster.nodes.map((_, index) => withNode(cluster, index, (node) => node.exists(key).catch(() => 0))),
  );
  return found.indexOf(1);
}

it("writes all keys although a primary is killed and its replica takes over in the middle", async () => {
  const sandbox = await newSandbox();
  const cluster = await newCluster(sandbox, 1, { ...FOUR, "cluster-node-timeout": 2000 });
  const took: boolean[] = [];
  let restarting: Promise<void> | undefined;
  const options = onFirstKeys(() => {
    restarting = (async () => {
      await sandbox.host.signal("new", ["new-1"], "SIGKILL");
      await eventually("a replica has taken over", async () => {
        const roles = await Promise.all(
          [3, 4, 5].map((index) => withNode(cluster, index, async (node) => (await node.role())[0])),
        );
        return roles.includes("master");
      });
      took.push(true);
      await sandbox.host.restart("new", ["new-1"], { newAddresses: false }, never);
    })();
  });
  const filled = await fill(cluster, {}, options);
  await restarting;
  expect(took).toEqual([true]);
  expect(filled.result.keys).toBe(await keysIn(shop));
  expect(filled.comparisons.map(({ comparison }) => comparison.isEqual)).toEqual(Array(6).fill(true));
});

it("writes every key once more whose reply was lost, while connections are killed", async () => {
  const cluster = await newCluster(await newSandbox(), 0);
  const keys = Array.from({ length: 30_000 }, (_, index): CopiedKey => {
    const [key, archived] = [Buffer.from(`key:${index}`), encodeString(randomBytes(1000))];
    const dump = sealDump(startDump(TYPE.string, [archived]).payload);
    return { database: 0, key, slot: calculateSlot(key), type: 0, archived, shiftMs: 0, expiresAt: undefined, dump };
  });
  const writer = new BulkWriter(cluster, never);
  const everywhere = async (...args: readonly string[]): Promise<void> => {
    for (const index of [0, 1, 2]) await withNode(cluster, index, (node) => node.call("CLIENT", [...args]));
  };
  for (let from = 0; from < keys.length; from += 1000) {
    const isLost = from % 10_000 === 5000;
    // The servers answer no write, so these thousand keys are in flight when the connections end.
    if (isLost) await everywhere("PAUSE", "10000", "WRITE");
    await writer.write(keys.slice(from, from + 1000));
    if (isLost) await everywhere("KILL", "TYPE", "normal");
    if (isLost) await everywhere("UNPAUSE");
  }
  await writer.finish();
  writer.close();
  expect(writer.isDisturbed).toBe(true);
  expect(writer.written + writer.kept).toBe(keys.length);
  expect(await keysIn(cluster)).toBe(keys.length);
});

/** A string as in an RDB file: its length in 14 bits, and its bytes. */
const encodeString = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x40 | (bytes.length >> 8), bytes.length & 255]), bytes]);

it("names a key that was not the archive's, and never replaces it", async () => {
  const one = await newPair(await newSandbox());
  const change = (): Promise<void> =>
    withNode(one, 0, async (node) => {
      await node.set("{tag}ttl", "changed", "PXAT", FAR);
      await node.set("extra", "1");
    });
  const failure = await fill(one, { onBegin: change }).catch((error: unknown) => String(error));
  expect(failure).toMatch(/FAIL — one does not have the data of the archive: one-0, one-1/);
  expect(failure).toContain('one-1: database 0, key "{tag}ttl": different value');
  expect(failure).toContain('one-0: database 0, key "extra": unexpected');
  expect(await withNode(one, 0, (node) => node.get("{tag}ttl"))).toBe("changed");
});

it("refuses patterns, databases and memory before it writes a key, every problem at once", async () => {
  const began: number[] = [];
  const cluster = await newCluster(await newSandbox(), 0, { maxmemory: 15_000_000 });
  const order = { keys: new KeySelection(["*", "none:*"]), onBegin: (time: number) => void began.push(time) };
  await expect(fill(cluster, order)).rejects.toThrow(
    /^restoreFrom:\n.*no key matches "none:\*"\n.*databases? 3, and new has only databases 0 to 0\n.*the data do not fit: shard-\d gets about .* maxmemory of/,
  );
  expect(began).toEqual([]);
  expect(await keysIn(cluster)).toBe(0);
  await callNode(cluster, 0, "CONFIG", "SET", "proto-max-bulk-len", 10_000_000);
  await expect(fill(cluster, { keys: new KeySelection(["large"]) })).rejects.toThrow(
    /key "large" of database 0 has a value of .*, and new accepts at most .* \(proto-max-bulk-len\)/,
  );
  expect(await keysIn(cluster)).toBe(0);
});

it("fills version 9.1 from an archive of 8.1, and refuses the way back", async ({ skip }) => {
  const older = await olderPrograms();
  if (older === undefined) return skip();
  const sandbox = await newSandbox(older);
  const old = await sandbox.replication("old", 0);
  await withNode(old, 0, (primary) => writeDataSet(primary, 72, 200));
  const restored = await archiveOnce(old, archiveFolder(sandbox));
  const filled = await fill(await newCluster(await newSandbox(), 0, FOUR), { restored });
  expect(filled.result.keys).toBe(await keysIn(old));
  const target = await sandbox.replication("target", 0);
  await expect(fill(target)).rejects.toThrow(/data of shard-0 are of version 9\..*target has the older version 8\.1/);
});
