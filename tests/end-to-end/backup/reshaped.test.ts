/** Archives that are restored into other shapes and modes, and what the comparison finds. */
import calculateSlot from "cluster-key-slot";
import { beforeAll, expect, it, vi } from "vitest";
import { type ServerComparison, compareServers } from "../../../backup/restoring/compare-servers";
import { stageSets } from "../../../backup/restoring/staging";
import { stagingProcesses, startRestored, writeRestored } from "../../../backup/restoring/start-restored";
import type { Restore } from "../../../backup/archive/catalog";
import type { TtlRule } from "../../../model/backup";
import { KeySelection } from "../../../backup/restoring/key-selection";
import { type RestoreShape, chooseShape } from "../../../backup/restoring/restore-shape";
import type { Deployment } from "../../../valkey/deployment";
import { compareRdb } from "../../support/valkey/compare-rdb";
import { readFileInPieces } from "../../../backup/rdb/walk";
import type { Mode } from "../../../valkey/node";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { archiveFolder, archiveOnce, snapshotOf } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandboxes } from "../../support/valkey/hooks";
import { type Sandbox, never, withNode } from "../../support/valkey/real";

const OPTIONS = { signal: never, report: () => undefined };
const SETTINGS = { "enable-debug-command": "local" };

const FAR = Date.now() + 10 ** 9;

// A test has several restores, on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let source: Sandbox;
let shop: Deployment;
let archived: Restore;
let original: string;
const { opened, open: newSandbox } = useSandboxes();
beforeAll(async () => {
  source = await newSandbox();
  shop = await source.replication("shop", 0, SETTINGS);
  await withNode(shop, 0, async (primary) => {
    await writeDataSet(primary, 51, 200);
    await primary.set("{tag}bytes", "value");
    await primary.set("{tag}gone", "1");
    await primary.set("{tag}ttl", "1", "PXAT", FAR);
    await primary.hset("{tag}fields", { a: 1, b: 2 });
    await primary.call("HPEXPIREAT", ["{tag}fields", FAR, "FIELDS", 1, "b"]);
    await primary.xadd("{tag}stream", "1-0", "a", "b");
    await primary.xgroup("CREATE", "{tag}stream", "group", "$");
  });
  archived = await archiveOnce(shop, archiveFolder(source));
  original = await snapshotOf(shop, 0, source.host.run.path);
});

interface Reshaped {
  readonly sandbox: Sandbox;
  readonly shape: RestoreShape;
  readonly deployment: Deployment;
  readonly compare: () => Promise<ServerComparison[]>;
}

interface Selected {
  readonly replicas: number;
  readonly keys: KeySelection;
  readonly ttl: TtlRule;
}

async function reshape(
  restore: Restore,
  mode: Mode,
  count: number,
  { replicas = 0, keys = new KeySelection(), ttl = "absolute" }: Partial<Selected> = {},
): Promise<Reshaped> {
  const sandbox = await newSandbox();
  const { host } = sandbox;
  const shape = chooseShape(restore.period, { mode, shards: count });
  if (typeof shape === "string") throw new Error(shape);
  const staged = await stageSets(stagingProcesses(host), restore, ttl, OPTIONS);
  const plan = await writeRestored(host, staged, { restored: restore, shape, replicas, keys }, OPTIONS);
  const deployment = await startRestored(host, plan, never);
  await host.form(deployment, plan.shape, OPTIONS);
  const { verdict } = await verifyUntilPass(deployment, { settlingMs: 60_000, ...OPTIONS });
  expect(verdict.pass).toBe(true);
  const compare = (): Promise<ServerComparison[]> =>
    compareServers(deployment, { staged, keys, isUnchanged: false, directory: host.run.path }, OPTIONS);
  return { sandbox, shape, deployment, compare };
}

const keysOf = (comparisons: readonly ServerComparison[]): number =>
  comparisons.reduce((sum, { comparison }) => sum + comparison.keys[1], 0);

it("1 shard becomes 3, 3 become 5, and 3 become 1 again, with every key of all databases", async () => {
  const three = await reshape(archived, "cluster", 3);
  const inThree = await three.compare();
  expect(inThree.map(({ comparison }) => comparison)).toEqual(
    [0, 1, 2].map(() => expect.objectContaining({ isEqual: true, differing: 0, libraries: [] }) as unknown),
  );
  expect(inThree.every(({ comparison }) => comparison.keys[1] > 20)).toBe(true);
  const cluster = await archiveOnce(three.deployment, archiveFolder(three.sandbox));
  expect(cluster.shards).toHaveLength(3);
  const [five, one] = [await reshape(cluster, "cluster", 5), await reshape(cluster, "replication", 1, { replicas: 1 })];
  const inFive = await five.compare();
  expect(inFive.map(({ comparison }) => comparison.isEqual)).toEqual([true, true, true, true, true]);
  const inOne = await one.compare();
  expect(inOne.map(({ server, comparison }) => [server, comparison.isEqual])).toEqual([
    ["restored-0", true],
    ["restored-1", true],
  ]);
  expect(keysOf(inFive)).toBe(keysOf(inThree));
  expect(inOne[0]?.comparison.keys).toEqual([keysOf(inThree), keysOf(inThree)]);
  const last = await snapshotOf(one.deployment, 0, one.sandbox.host.run.path);
  expect(
    await compareRdb(
      () => readFileInPieces(original),
      () => readFileInPieces(last),
      { scope: "source" },
    ),
  ).toMatchObject({ isEqual: true, keys: [keysOf(inThree), keysOf(inThree)], libraries: [] });
  await withNode(five.deployment, 4, async (node) => {
    expect(await node.call("FCALL", ["double", "0", "21"])).toBe(42);
    expect(await node.config("GET", "cluster-databases")).toEqual(["cluster-databases", "4"]);
  });
});

it("finds a changed byte, a missing key, a new key, TTLs, a group, a function and a key in a wrong shard", async () => {
  const { deployment, shape, compare } = await reshape(archived, "cluster", 3);
  const slot = calculateSlot("tag");
  const own = shape.shards.findIndex((ranges) => ranges.some(({ from, to }) => from <= slot && slot <= to));
  const other = (own + 1) % 3;
  await withNode(deployment, own, async (node) => {
    await node.setrange("{tag}bytes", 2, "X");
    await node.del("{tag}gone");
    await node.set("{tag}new", "1");
    await node.pexpireat("{tag}ttl", FAR + 1);
    await node.call("HPEXPIREAT", ["{tag}fields", FAR + 1, "FIELDS", 1, "b"]);
    await node.xgroup("SETID", "{tag}stream", "group", "0");
  });
  await withNode(deployment, other, async (node) => {
    const owner = await withNode(deployment, own, async (each) => each.cluster("MYID"));
    await node.call("FUNCTION", ["FLUSH"]);
    await node.call("CLUSTER", ["SETSLOT", slot, "IMPORTING", owner]);
    await node.asking();
    await node.set("{tag}wrong", "1");
    await node.call("CLUSTER", ["SETSLOT", slot, "STABLE"]);
  });
  const found = await compare();
  const named = (index: number): string[] =>
    found[index]?.comparison.first.map(({ key, kind }) => `${key.toString()}: ${kind}`).sort() ?? [];
  expect(named(own)).toEqual([
    "{tag}bytes: different value",
    "{tag}fields: different value",
    "{tag}gone: missing",
    "{tag}new: unexpected",
    "{tag}stream: different value",
    "{tag}ttl: different TTL",
  ]);
  expect(named(other)).toEqual(["{tag}wrong: unexpected"]);
  expect(found[other]?.comparison.libraries).toEqual(["#!lua name=lib"]);
  expect(found.map(({ comparison }) => comparison.isEqual)).toEqual(
    [0, 1, 2].map((index) => index !== own && index !== other),
  );
});

it("restores only keys that match, with the time that they had left, and finds a TTL that was not moved", async () => {
  const patterns = ["{tag}*", "*[0-3]"];
  const first = await withNode(shop, 0, (node) => node.keys("*"));
  const began = Date.now();
  const { deployment, shape, compare } = await reshape(archived, "cluster", 3, {
    keys: new KeySelection(patterns),
    ttl: "remaining",
  });
  const ended = Date.now();
  expect((await compare()).map(({ comparison }) => comparison.isEqual)).toEqual([true, true, true]);
  const sizes = await Promise.all([0, 1, 2].map((index) => withNode(deployment, index, (node) => node.dbsize())));
  const wanted = first.filter((key) => key.startsWith("{tag}") || /[0-3]$/.test(key));
  expect(wanted.length).toBeGreaterThan(20);
  expect(sizes.reduce((sum, each) => sum + each)).toBe(wanted.length);
  const slot = calculateSlot("tag");
  const own = shape.shards.findIndex((ranges) => ranges.some(({ from, to }) => from <= slot && slot <= to));
  const at = archived.shards[0]?.point.at ?? 0;
  await withNode(deployment, own, async (node) => {
    const [field = 0] = (await node.call("HPEXPIRETIME", ["{tag}fields", "FIELDS", 1, "b"])) as number[];
    for (const time of [await node.pexpiretime("{tag}ttl"), field]) {
      expect(time - FAR).toBeGreaterThanOrEqual(Math.floor(began - at));
      expect(time - FAR).toBeLessThanOrEqual(Math.ceil(ended - at));
    }
    await node.pexpireat("{tag}ttl", FAR);
  });
  expect((await compare())[own]?.comparison.first).toEqual([
    { database: 0, key: Buffer.from("{tag}ttl"), kind: "different TTL" },
  ]);
});

it("starts no server if no key matches a pattern", async () => {
  const keys = new KeySelection(["{tag}*", "none:*", "never"]);
  await expect(reshape(archived, "replication", 1, { keys })).rejects.toThrow(
    /^nothing was restored: .* no key matches "none:\*"; .* no key matches "never"$/,
  );
  expect(opened.at(-1)?.host.nodes("restored")).toEqual([]);
});

it("selects the keys that KEYS finds", async () => {
  const patterns = [
    "*",
    "a*b?",
    "{tag}[a-g]*",
    "[^0-9{]*",
    "*[z-w]",
    "\\{tag}t\\tl",
    "{tag}[b\\]*",
    "k?*[0-9]",
    "*[5",
    "**1*2",
    "[]",
    "[^]",
  ];
  await withNode(shop, 0, async (node) => {
    const all = await node.keysBuffer("*");
    for (const pattern of patterns) {
      const selection = new KeySelection([pattern]);
      const found = all.filter((key) => selection.has(key)).map((key) => key.toString("hex"));
      const wanted = (await node.keysBuffer(pattern)).map((key) => key.toString("hex"));
      expect(found.sort(), pattern).toEqual(wanted.sort());
    }
  });
});
