/** New deployments that are filled with archived data, and compared with them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stagingProcesses } from "../../../platforms/host/restoring/staging-processes";
import type { Restore } from "../../../valkey/archive/catalog";
import type { Deployment } from "../../../valkey/deployment";
import type { Filled, FillOrder } from "../../../valkey/restoring/fill-deployment";
import { fillDeployment } from "../../../valkey/restoring/fill-deployment";
import { KeySelection } from "../../../valkey/restoring/key-selection";
import type { RestoreOptions } from "../../../valkey/restoring/loading";
import { archiveOnce } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { never, Sandbox, withNode } from "../../support/valkey/real";

const OPTIONS = { signal: never, report: () => undefined };
const SETTINGS = { "repl-diskless-sync-delay": 0 };
const FAR = Date.now() + 10 ** 9;
const SLOW_MS = 300_000;

let source: Sandbox;
let shop: Deployment;
let archived: Restore;
const sandboxes: Sandbox[] = [];
beforeAll(async () => {
  source = await newSandbox();
  shop = await source.replication("shop", 0, SETTINGS);
  await withNode(shop, 0, async (primary) => {
    await writeDataSet(primary, 71, 300);
    await primary.set("{tag}ttl", "1", "PXAT", FAR);
    await primary.hset("{tag}fields", { a: 1, b: 2 });
    await primary.call("HPEXPIREAT", ["{tag}fields", FAR, "FIELDS", 1, "b"]);
    await primary.set("large", Buffer.alloc(20_000_000, 7));
  });
  archived = await archiveOnce(shop, folderOf(source));
}, SLOW_MS);
afterAll(() => Promise.all(sandboxes.map((each) => each.close())));

async function newSandbox(...args: Parameters<typeof Sandbox.open>): Promise<Sandbox> {
  const sandbox = await Sandbox.open(...args);
  sandboxes.push(sandbox);
  return sandbox;
}

function folderOf({ host }: Sandbox): string {
  const folder = join(host.run.path, "sets");
  mkdirSync(folder);
  return folder;
}

async function newCluster(sandbox: Sandbox, replicas: number, settings = {}): Promise<Deployment> {
  const cluster = await sandbox.cluster("new", 3, replicas, { ...SETTINGS, ...settings });
  await sandbox.host.form(cluster, { primaries: 3, replicasPerPrimary: replicas }, OPTIONS);
  return cluster;
}

async function newPair(sandbox: Sandbox, settings = {}): Promise<Deployment> {
  const one = await sandbox.replication("one", 1, { ...SETTINGS, ...settings });
  await sandbox.host.form(one, { primaries: 1, replicasPerPrimary: 1 }, OPTIONS);
  return one;
}

const FOUR = { "cluster-databases": 4 };
const runs: string[] = [];

/** Fills a deployment. Staging servers are in a sandbox of their own, as they are for a stack. */
async function fill(
  target: Deployment,
  order: Partial<FillOrder> = {},
  options: Partial<RestoreOptions> = {},
): Promise<Filled> {
  const { host } = await newSandbox();
  runs.push(host.run.path);
  return fillDeployment(
    target,
    {
      restored: archived,
      keys: new KeySelection(),
      ttl: "absolute",
      continues: undefined,
      onBegin: () => undefined,
      ...order,
    },
    { staging: stagingProcesses(host), directory: host.run.path },
    { ...OPTIONS, ...options },
  );
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

it(
  "fills three shards with replicas from one, and one server from the three, with every database and function",
  async () => {
    const sandbox = await newSandbox();
    const cluster = await newCluster(sandbox, 1, FOUR);
    const times: number[] = [];
    const filled = await fill(cluster, { onBegin: (time) => void times.push(time) });
    expect(filled.comparisons.map(({ shard, comparison }) => [shard, comparison.isEqual])).toEqual(
      ["shard-0", "shard-0", "shard-1", "shard-1", "shard-2", "shard-2"].map((shard) => [shard, true]),
    );
    const original = await keysIn(shop);
    expect(original).toBeGreaterThan(250);
    expect(filled.keys).toBe(original);
    expect(await keysIn(cluster)).toBe(2 * original);
    expect(filled.shards).toEqual([{ name: "shard-0", at: archived.shards[0]?.point.at }]);
    expect(times).toHaveLength(1);
    await expect(fill(cluster)).rejects.toThrow(
      /^restoreFrom: new has data already: \d+ keys on one server and 1 library of functions; .*only a new deployment/,
    );
    const again = await fill(cluster, { continues: times[0] });
    expect(again.keys).toBe(original);
    const second = await archiveOnce(cluster, folderOf(sandbox));
    const one = await newPair(await newSandbox());
    const back = await fill(one, { restored: second });
    expect(back.comparisons.map(({ server, comparison }) => [server, comparison.isEqual])).toEqual([
      ["one-0", true],
      ["one-1", true],
    ]);
    expect(back.keys).toBe(original);
    expect(await withNode(one, 0, (node) => node.call("FCALL", ["double", "0", "21"]))).toBe(42);
  },
  SLOW_MS,
);
