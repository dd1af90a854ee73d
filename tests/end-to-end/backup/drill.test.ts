/** Drills of archives of real servers: what a drill proves, what it finds, and what it leaves behind. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { stagingProcesses } from "../../../backup/restoring/start-restored";
import { runDrill } from "../../../backup/restorer/tasks";
import { type Proof, readLastFailedDrill, readLastProof } from "../../../backup/archive/keeping/proofs";
import { readCatalog, setsOf } from "../../../backup/archive/catalog";
import { BASE_FILE } from "../../../backup/archive/manifests";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Connection } from "../../../valkey/connection";
import { withEveryNode } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import type { StagingServers } from "../../../backup/restoring/staging";
import { archiveOnce } from "../../support/valkey/archived-deployment";
import { writeDataSet } from "../../support/valkey/data-set";
import { useSandbox } from "../../support/valkey/hooks";
import { never, Sandbox, withNode } from "../../support/valkey/real";

const SETTINGS = { "enable-debug-command": "local" };
/** Number of keys that have expired, and that the primary has not removed. */
const EXPIRED = 20;

const sandbox = useSandbox();
let place: DirectoryStore;
beforeAll(async () => {
  const shop = await sandbox.replication("shop", 0, SETTINGS);
  await withNode(shop, 0, async (primary) => {
    expect(await writeDataSet(primary, 71, 200)).toEqual([]);
    await primary.set("changed", "value");
    await expire(primary);
  });
  place = await archived(shop, "sets");
});

/** Writes keys and a field that have expired. The primary does not remove them, so the archive has them. */
async function expire(primary: Connection): Promise<void> {
  await primary.call("DEBUG", ["SET-ACTIVE-EXPIRE", "0"]);
  for (let index = 0; index < EXPIRED; index++) await primary.set(`expired:${index}`, index, "PX", 1);
  await primary.hset("fields", { short: 1, long: 2 });
  await primary.call("HPEXPIRE", ["fields", 1, "FIELDS", 1, "short"]);
}

async function archived(deployment: Deployment, name: string): Promise<DirectoryStore> {
  const folder = join(sandbox.host.run.path, name);
  mkdirSync(folder);
  await archiveOnce(deployment, folder);
  return new DirectoryStore(folder);
}

const lastProof = async (store: DirectoryStore): Promise<Proof | undefined> =>
  readLastProof(store, setsOf(await readCatalog(store)));

async function drilled(
  store: DirectoryStore,
  { change = (each) => each, signal = never }: Partial<Drill> = {},
): Promise<string> {
  const own = await Sandbox.open();
  try {
    const staging = change(stagingProcesses(own.host));
    return await runDrill(store, staging, { signal, report: () => undefined });
  } finally {
    await own.close();
  }
}

interface Drill {
  readonly change: (staging: StagingServers) => StagingServers;
  readonly signal: AbortSignal;
}

/** Staging servers. The data of each restored server is changed before the comparison. */
const changing =
  (use: (server: Deployment) => Promise<unknown>) =>
  (staging: StagingServers): StagingServers => ({
    ...staging,
    start: async (name, settings, signal) => {
      const server = await staging.start(name, settings, signal);
      if (name.startsWith("restored")) await use(server);
      return server;
    },
  });

it("finds a changed value, a missing key and an additional library, names them, and records no proof", async () => {
  const change = changing((server) =>
    withNode(server, 0, async (connection) => {
      await connection.set("changed", "Value");
      await connection.call("FUNCTION", ["LOAD", "#!lua name=more\nserver.register_function('f', function() end)"]);
    }),
  );
  await expect(drilled(place, { change })).rejects.toThrow(
    /^FAIL — shard-0: 2 differences.*different value: database 0, key "changed".*"#!lua name=more"/s,
  );
  const missing = changing((server) => withNode(server, 0, (connection) => connection.del("changed")));
  await expect(drilled(place, { change: missing })).rejects.toThrow(
    /1 difference .*missing: database 0, key "changed"/,
  );
  expect(await lastProof(place)).toBeUndefined();
  expect((await readLastFailedDrill(place))?.reason).toMatch(/^FAIL — shard-0: 1 difference .*missing/);
});

it("leaves no proof when it is interrupted, and the next drill passes and records what it proved", async () => {
  const stop = new AbortController();
  const change = changing(() => {
    stop.abort(new Error("stopped by the test"));
    return Promise.resolve();
  });
  const failed = await readLastFailedDrill(place);
  await expect(drilled(place, { change, signal: stop.signal })).rejects.toThrow("stopped by the test");
  expect(await lastProof(place)).toBeUndefined();
  expect(await readLastFailedDrill(place)).toEqual(failed);
  const before = Date.now();
  expect(await drilled(place)).toMatch(/^PASS — \d+ keys of 1 shard as of 20\S+Z: all equal to the archive$/);
  const proof = await lastProof(place);
  expect(proof?.provenAt).toBeGreaterThanOrEqual(before);
  expect(proof?.keys).toBeGreaterThan(100 + EXPIRED);
  expect(proof?.shards.map(({ shard }) => shard)).toEqual(["shard-0"]);
});

it("passes for three shards, one server at a time", async () => {
  const cluster = await sandbox.cluster("cluster", 3, 0, SETTINGS);
  await sandbox.host.form(cluster, { primaries: 3, replicasPerPrimary: 0 }, { signal: never });
  await withEveryNode(cluster, (attempts) =>
    Promise.all(
      attempts.map(async ({ connection }) => {
        if (connection !== undefined) await writeDataSet(connection, 72, 150, { isCluster: true });
      }),
    ),
  );
  const store = await archived(cluster, "cluster-sets");
  let [running, most] = [0, 0];
  const counting = (staging: StagingServers): StagingServers => ({
    ...staging,
    start: async (name, settings, signal) => {
      most = Math.max(most, ++running);
      return staging.start(name, settings, signal);
    },
    stop: async (name) => {
      await staging.stop(name);
      running--;
    },
  });
  expect(await drilled(store, { change: counting })).toMatch(/^PASS — \d+ keys of 3 shards/);
  expect([running, most]).toEqual([0, 1]);
  const proof = await lastProof(store);
  expect(proof?.shards.map(({ shard }) => shard)).toEqual(["shard-0", "shard-1", "shard-2"]);
});

it("names a damaged file, and records no proof", async () => {
  const source = await sandbox.replication("damaged", 0, SETTINGS);
  await withNode(source, 0, (primary) => writeDataSet(primary, 73, 50));
  const damaged = await archived(source, "damaged-sets");
  const [period] = (await readCatalog(damaged)).periods;
  const [set] = [...setsOf({ periods: period === undefined ? [] : [period] })];
  const file = join(damaged.path, set ?? "", BASE_FILE);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  await expect(drilled(damaged)).rejects.toThrow(/base\.rdb is damaged: its checksum is not that of its manifest/);
  expect(await lastProof(damaged)).toBeUndefined();
});
