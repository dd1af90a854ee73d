/** New deployments on this machine that the provider fills from an archive, as the engine calls it. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, afterAll, describe, expect, it } from "vitest";
import { RunDirectory, runningProcesses } from "../../../platforms/host/run-directory";
import { runsDirectory } from "../../../lib/system/paths";
import { resourceType } from "../../../operations/provider/kinds";
import { RESTORE_RUN } from "../../../operations/handlers/restoring/host-restore";
import { ValkeyProvider } from "../../../operations/provider/valkey-provider";
import { BucketStore } from "../../../backup/archive/bucket/bucket-store";
import { parseBucket } from "../../../backup/archive/bucket/location";
import type { Deployment } from "../../../valkey/deployment";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { ProviderProcess } from "../../support/pulumi/provider-process";
import { archiveInto, archiveOnce } from "../../support/valkey/archived-deployment";
import { BUCKET, CREDENTIALS, S3Server } from "../../support/valkey/s3-server";
import { writeDataSet } from "../../support/valkey/data-set";
import { eventually, Sandbox, withNode, callNode } from "../../support/valkey/real";

type State = Readonly<Record<string, unknown>>;

const SLOW_MS = 240_000;
const OPTIONS = { signal: new AbortController().signal, report: () => undefined };
const URN = `urn:pulumi:stack::project::${resourceType("HostRestore")}::new`;
const lines: string[] = [];
const newProvider = (): ValkeyProvider => new ValkeyProvider("1.2.3", undefined, (_urn, line) => lines.push(line));
const provider = newProvider();

let source: Sandbox;
let shop: Deployment;
let folder: string;
let keys: number;
let at: number;
beforeAll(async () => {
  source = await Sandbox.open();
  folder = mkdtempSync(join(tmpdir(), "archive-"));
  shop = await source.replication("shop", 0);
  await withNode(shop, 0, async (primary) => {
    await writeDataSet(primary, 81, 300, { isCluster: true });
    keys = await primary.dbsize();
  });
  at = (await archiveOnce(shop, folder)).shards[0]?.point.at ?? 0;
  await callNode(shop, 0, "FLUSHALL");
}, SLOW_MS);
afterAll(async () => {
  await source.close();
  rmSync(folder, { recursive: true });
});

let sandbox: Sandbox;
let cluster: Deployment;
afterEach(() => sandbox.close());

async function newCluster(restoreFrom: State = {}): Promise<State> {
  lines.length = 0;
  sandbox = await Sandbox.open();
  const shape = { primaries: 3, replicasPerPrimary: 1 };
  cluster = await sandbox.cluster("new", 3, 1);
  await sandbox.host.form(cluster, shape, OPTIONS);
  const directory = sandbox.host.run.path;
  return {
    target: {
      ...{ platform: "endpoints", name: "new", mode: "cluster", shape, zones: cluster.zones, nodes: cluster.nodes },
      ...{ directives: Object.fromEntries(cluster.directives) },
    },
    ...{
      password: cluster.access.password,
      directory,
      timeoutSeconds: 60,
      restoreFrom: { from: folder, ...restoreFrom },
    },
  };
}

const restore = async (inputs: State, by = provider): Promise<State> => (await by.create(URN, inputs)).outs as State;
const refusals = async (inputs: State): Promise<readonly string[]> =>
  ((await provider.check(URN, {}, inputs)).failures ?? []).map(({ reason }) => reason);
const restoreRuns = (): ReturnType<typeof RunDirectory.list> =>
  RunDirectory.list(runsDirectory()).filter(({ info }) => info.stack === RESTORE_RUN);

async function keysInPrimaries(): Promise<number> {
  const counts = await Promise.all([0, 1, 2].map((index) => withNode(cluster, index, (node) => node.dbsize())));
  return counts.reduce((sum, each) => sum + each);
}

describe("a new deployment with restoreFrom", { timeout: SLOW_MS }, () => {
  it("is filled once in a different shape, passes verification, and stays as it is when restoreFrom changes", async () => {
    const inputs = await newCluster();
    expect(await refusals(inputs)).toEqual([]);
    const state = await restore(inputs);
    expect(state).toMatchObject({ keys, expired: 0, shards: [{ name: "shard-0", at: new Date(at).toISOString() }] });
    expect(await keysInPrimaries()).toBe(keys);
    expect((await verifyUntilPass(cluster, { settlingMs: 30_000 })).verdict.pass).toBe(true);
    expect(restoreRuns()).toEqual([]);
    expect(await provider.diff("new", URN, state, inputs)).toMatchObject({ changes: false, replaces: [] });
    const changed = { ...inputs, restoreFrom: { from: "/elsewhere" } };
    expect((await provider.check(URN, inputs, changed)).failures).toEqual([]);
    expect(await provider.diff("new", URN, state, changed)).toMatchObject({ changes: true, replaces: [] });
    expect(lines.join("\n")).toContain("restoreFrom has changed; it fills only a new deployment, so no data change");
    await callNode(cluster, 0, "FLUSHALL");
    const after = (await provider.update("new", URN, state, changed)).outs as State;
    expect(after).toEqual({ ...state, restoreFrom: { from: "/elsewhere" } });
    // The engine was killed before it wrote the state: the servers are not filled again.
    expect(await restore(inputs)).toEqual(state);
    expect(await keysInPrimaries()).toBeLessThan(keys);
    await provider.delete("new", URN, state);
    expect(await refusals(inputs)).toEqual([expect.stringContaining("new has data already")]);
  });

  it("is continued after an interruption, and refuses a different order until then", async () => {
    const inputs = await newCluster({ ttl: "remaining" });
    const first = newProvider();
    const marker = join(sandbox.host.run.path, "restore.json");
    const interrupted = restore(inputs, first);
    interrupted.catch(() => undefined);
    await eventually("the first key is written", () => existsSync(marker), 60_000);
    await first.cancel();
    await expect(interrupted).rejects.toThrow("cancelled");
    expect(restoreRuns()).toEqual([]);
    const other = { ...inputs, restoreFrom: { from: folder, keys: ["a*"] } };
    expect(await refusals(other)).toEqual([
      expect.stringMatching(/has changed since an interrupted update, which has written a part of the keys of .*undo/),
    ]);
    await expect(restore(other)).rejects.toThrow(/has changed since an interrupted update/);
    expect(await refusals(inputs)).toEqual([]);
    expect(await restore(inputs)).toMatchObject({ keys });
    expect(await keysInPrimaries()).toBe(keys);
  });

  it("is continued after its process was killed while a staging server ran, and again after the first key", async () => {
    const inputs = await newCluster();
    const marker = join(sandbox.host.run.path, "restore.json");
    const isStaging = (): boolean => restoreRuns().some(({ path }) => runningProcesses(path).length > 0);
    for (const isReady of [isStaging, () => existsSync(marker)]) {
      const killed = await ProviderProcess.start();
      const restoring = killed.create(resourceType("HostRestore"), inputs);
      restoring.catch(() => undefined);
      await eventually("the restore has begun", isReady, 60_000);
      killed.stop();
      await expect(restoring).rejects.toThrow();
    }
    expect(restoreRuns()).toHaveLength(1);
    const last = await ProviderProcess.start();
    try {
      expect((await last.create(resourceType("HostRestore"), inputs)).properties).toMatchObject({ keys });
    } finally {
      last.stop();
    }
    expect(await keysInPrimaries()).toBe(keys);
    expect(restoreRuns()).toEqual([]);
  });

  it("is not filled again if its result could not be recorded beside it", async () => {
    const inputs = await newCluster();
    const record = join(sandbox.host.run.path, "restore.json");
    const interrupted = restore(inputs);
    interrupted.catch(() => undefined);
    await eventually("the first key is written", () => existsSync(record), 60_000);
    const begun = readFileSync(record);
    // A file cannot replace a directory.
    rmSync(record);
    mkdirSync(join(record, "in-the-way"), { recursive: true });
    await expect(interrupted).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    rmSync(record, { recursive: true });
    writeFileSync(record, begun);
    await Promise.all([0, 1, 2].map((index) => callNode(cluster, index, "FUNCTION", "FLUSH")));
    const deleted = await withNode(cluster, 0, async (node) => {
      const [, found] = await node.scanBuffer(0, "COUNT", 1000);
      const names = found.filter((name) => !name.toString().startsWith("valkey-measured:"));
      for (const name of names) await node.del(name);
      return names.length;
    });
    expect(deleted).toBeGreaterThan(0);
    lines.length = 0;
    expect(await restore(inputs)).toMatchObject({ keys });
    expect(await keysInPrimaries()).toBe(keys - deleted);
    expect(lines.join("\n")).not.toContain("restoring");
    expect(await restore(inputs)).toMatchObject({ keys });
  });

  it("is filled from a bucket, and refused if the bucket refuses", async () => {
    const directory = mkdtempSync(join(tmpdir(), "bucket-"));
    const s3 = await S3Server.start(directory);
    Object.assign(process.env, CREDENTIALS);
    try {
      await callNode(shop, 0, "SET", "new", "1");
      const options = { endpoint: s3.endpoint };
      const location = parseBucket(`s3://${BUCKET}/shop`, options, []);
      await archiveInto(await BucketStore.open(location, OPTIONS.signal), shop, join(directory, "spool"));
      const inputs = await newCluster({ from: `s3://${BUCKET}/shop`, ...options });
      expect(await refusals(inputs)).toEqual([]);
      s3.refusal = "AccessDenied";
      expect(await refusals(inputs)).toEqual([expect.stringMatching(/access is denied/)]);
      s3.refusal = undefined;
      expect(await restore(inputs)).toMatchObject({ keys: 1 });
      expect(await keysInPrimaries()).toBe(1);
      expect(restoreRuns()).toEqual([]);
    } finally {
      for (const name of Object.keys(CREDENTIALS)) Reflect.deleteProperty(process.env, name);
      await s3.close();
      rmSync(directory, { recursive: true });
    }
  });

  it("is refused before a key is written if it has data, or if the archive lacks the data", async () => {
    const inputs = await newCluster();
    const from = (restoreFrom: State): State => ({ ...inputs, restoreFrom: { from: folder, ...restoreFrom } });
    expect(await refusals(from({ from: "/nowhere" }))).toEqual([
      expect.stringMatching(/\/nowhere: there is no archive/),
    ]);
    expect(await refusals(from({ at: "2020-01-01T00:00:00Z" }))).toEqual([
      expect.stringMatching(/2020-01-01T00:00:00.000Z cannot be restored; the nearest times .* are .* after it/),
    ]);
    await expect(restore(from({ keys: ["none:*"] }))).rejects.toThrow(/no key matches "none:\*"/);
    expect(await keysInPrimaries()).toBe(0);
    await withNode(cluster, 0, (node) =>
      node.call("FUNCTION", ["LOAD", "#!lua name=a\nserver.register_function('b', function() end)"]),
    );
    const problem = /new has data already: 1 library of functions; restoreFrom fills only a new deployment/;
    expect(await refusals(inputs)).toEqual([expect.stringMatching(problem)]);
    await expect(restore(inputs)).rejects.toThrow(problem);
    expect(existsSync(join(sandbox.host.run.path, "restore.json"))).toBe(false);
    expect(restoreRuns()).toEqual([]);
  });
});
