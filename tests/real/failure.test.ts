/** Real servers that are broken on purpose while a client writes, in short form, and what is found of it. */
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { account } from "../../benchmarks/failure/accounting";
import type { Accounting } from "../../benchmarks/failure/accounting";
import { breakAll } from "../../benchmarks/failure/break-all";
import type { Sufferer } from "../../benchmarks/failure/break-all";
import type { Broken } from "../../benchmarks/failure/break-once";
import type { Fault, Scenario } from "../../benchmarks/failure/fault";
import { HostBreaker } from "../../benchmarks/failure/host-breaker";
import { Writer } from "../../benchmarks/failure/writer";
import { connect } from "../../benchmarks/connection";
import { obstacleToCuts, obstacleToDisks } from "../../benchmarks/host/scars";
import { verify } from "../../benchmarks/verification/verify";
import { never, Sandbox, withNode, ZONES } from "../support/real";

const SHORT = { load: { rate: 500, bytes: 64, timeoutMs: 400, acknowledgement: { replicas: 0, timeoutMs: 0 } }, settings: new Map<string, string>(), beforeSeconds: 0.4, afterSeconds: 0.2, patienceSeconds: 40, repair: true };
/** FAILOVER holds writes until a job of the replica's that runs once a second. */
const PATIENT = { ...SHORT.load, timeoutMs: 4000 };
const SETTINGS = { appendonly: true, appendfsync: "everysec", "repl-diskless-sync-delay": 0 } as const;
const NODE_TIMEOUT_MS = 500;
const [CUTS, DISKS] = [obstacleToCuts(), obstacleToDisks()];
const unless = (obstacle: string | undefined): string => (obstacle === undefined ? "" : ` (skipped: ${obstacle})`);

let sandbox: Sandbox;
let cluster: Sufferer;
let replication: Sufferer;

async function sufferer(mode: "cluster" | "replication"): Promise<Sufferer> {
  const shape = mode === "cluster" ? { primaries: 3, replicasPerPrimary: 1 } : { primaries: 1, replicasPerPrimary: 2 };
  const settings = mode === "cluster" ? { ...SETTINGS, save: "", "cluster-node-timeout": NODE_TIMEOUT_MS } : { ...SETTINGS, save: "" };
  const deployment = await sandbox.host.start({ name: mode, mode, shape, settings, zones: ZONES, zoneAddresses: CUTS === undefined, diskBytes: DISKS === undefined ? 64 * 1024 ** 2 : undefined }, never);
  await sandbox.host.form(deployment, shape, {});
  const { verdict } = await verify(deployment);
  return { breaker: new HostBreaker(sandbox.host, deployment, never), shape, failsOver: mode === "cluster", primaries: verdict.shards.flatMap(({ primary }) => primary ?? []) };
}

async function suffer(whom: Sufferer, fault: Fault, changes: Partial<Scenario> = {}): Promise<Broken["record"]> {
  const found: Broken[] = [];
  await breakAll([{ scenario: { name: fault.kind, fault, ...SHORT, ...changes }, repeats: 1, sufferer: whom }], { signal: never, report: () => undefined, emit: (broken) => found.push(broken) });
  const [broken] = found;
  if (broken === undefined) throw new Error("nothing was broken");
  const { record, lost } = broken;
  expect(record).toMatchObject({ unwell: null, anomalies: [], unread: 0 });
  expect(lost).toHaveLength(record.lost.count);
  expect(record.writes.acknowledged + record.writes.failed + record.writes.unknown).toBe(record.writes.due);
  return record;
}

beforeAll(async () => {
  sandbox = await Sandbox.open();
  [cluster, replication] = await Promise.all([sufferer("cluster"), sufferer("replication")]);
});
afterAll(() => sandbox.close());

describe("a cluster", () => {
  it("recovers from the SIGKILL of a primary: only its shard is out, and for no longer than it takes to elect another", async () => {
    const record = await suffer(cluster, { kind: "kill-primary", restart: "served" });
    const [struck, ...others] = record.shards;
    expect(struck?.overMs).toBeGreaterThan(NODE_TIMEOUT_MS);
    expect(struck?.overMs).toBeLessThan(10_000);
    for (const { longestMs } of others) expect(longestMs).toBeLessThan(struck?.longestMs ?? 0);
    expect(record).toMatchObject({ helped: false, victims: ["cluster-0"] });
    expect(record.errors.map(({ error }) => error)).toContain("refused");
    expect(record.redundantMs ?? 0).toBeGreaterThan(record.outage.overMs ?? Infinity);
    expect(record.states.some(({ node, state }) => node === "cluster-0" && state === "silent")).toBe(true);
  });

  it("without a majority does not recover before its replicas are told to take over", async () => {
    const record = await suffer(cluster, { kind: "kill-primaries", share: 0.67, restart: "served" });
    expect(record.helped).toBe(true);
    expect(record.warnings.join()).toContain("no majority is left");
    expect(record.events.map(({ what }) => what).join("\n")).toMatch(/SIGKILL cluster-0, cluster-1\ntell cluster-3, cluster-4 to take over\nstart/);
  });

  it("goes on without a zone", async () => {
    expect(await suffer(cluster, { kind: "kill-zone", zone: "b", restart: "served" })).toMatchObject({ helped: false, victims: ["cluster-1", "cluster-3"] });
  });

  it("goes on without a primary that stands still, whose writes of that time have no known outcome", async () => {
    const record = await suffer(cluster, { kind: "freeze-primary", seconds: 3 });
    expect(record.outage.overMs).toBeLessThan(3000);
    expect(record.errors.find(({ error }) => error === "timeout")).toMatchObject({ outcome: "unknown" });
    expect(record.states.filter(({ node }) => node === "cluster-0").at(-1)?.state).toBe("replica");
  });

  it.skipIf(CUTS !== undefined)(`loses what a primary took that was cut off${unless(CUTS)}`, async () => {
    const record = await suffer(cluster, { kind: "cut-zone", zone: "a", seconds: 3 });
    expect(record.lost.count).toBeGreaterThan(0);
    // Taken by the primary that was cut off, before it noticed.
    expect(record.lost.count).toBeLessThan((record.load.rate / 3) * 3);
    for (const { found } of record.lost.writes) expect(found === "gone" || typeof found === "number").toBe(true);
  });

  it.skipIf(DISKS !== undefined)(`whose disk is full refuses writes until it is not${unless(DISKS)}`, async () => {
    const record = await suffer(cluster, { kind: "full-disk", seconds: 1.5 });
    expect(record.errors[0]).toMatchObject({ error: "MISCONF", outcome: "failed" });
    expect(record.lost.count).toBe(0);
  });

  it("is restarted node by node without a failed or lost write", async () => {
    const record = await suffer(cluster, { kind: "rolling-restart", home: undefined }, { load: PATIENT });
    expect(record).toMatchObject({ errors: [], lost: { count: 0 }, outage: { longestMs: 0, overMs: 0 }, writes: { failed: 0, unknown: 0 } });
    expect(record.writes.redirected).toBeGreaterThan(0);
    expect(record.events.filter(({ what }) => what.startsWith("restart cluster-"))).toHaveLength(6);
  });

  it("is scaled out and in without a failed or lost write", async () => {
    expect(await suffer(cluster, { kind: "scale", to: { primaries: 4, replicasPerPrimary: 1 } }, { load: PATIENT })).toMatchObject({ errors: [], lost: { count: 0 }, writes: { failed: 0, unknown: 0 } });
  });

  it("comes back after the SIGKILL of all nodes, at other addresses, with every write that was on disk", async () => {
    const before = cluster.breaker.nodes().map(({ endpoint }) => endpoint.port);
    const record = await suffer(cluster, { kind: "kill-all", newAddresses: true }, { settings: new Map([["appendfsync", "always"]]) });
    expect(cluster.breaker.nodes().map(({ endpoint }) => endpoint.port)).not.toEqual(before);
    expect(record.okMs).not.toBeNull();
    expect(record.lost.count).toBe(0);
    expect(record.writes.acknowledged).toBeGreaterThan(300);
    // The directive was in force for the scenario alone.
    expect(await withNode(cluster.breaker.deployment, 0, (connection) => connection.config("GET", "appendfsync"))).toContain("everysec");
  });
});

describe("replication", () => {
  it("has nobody to take over, and is out until its primary is back", async () => {
    const record = await suffer(replication, { kind: "kill-primary", restart: { seconds: 1 } });
    expect(record.outage.overMs).toBeGreaterThan(1000);
    expect(record.warnings.join()).toContain("nobody promotes a replica");
  });

  it("is restarted node by node without a failed or lost write", async () => {
    expect(await suffer(replication, { kind: "rolling-restart", home: undefined }, { load: PATIENT })).toMatchObject({ errors: [], lost: { count: 0 }, writes: { failed: 0, unknown: 0 } });
  });

  it("comes back after the SIGKILL of all nodes, at other addresses", async () => {
    expect((await suffer(replication, { kind: "kill-all", newAddresses: true })).okMs).not.toBeNull();
  });
});

/** A server that loses writes on purpose, between a writer that has stopped and what it reads back. */
async function accountAfter(whom: Sufferer, lose: (writer: Writer) => Promise<void>): Promise<{ accounting: Accounting; writer: Writer }> {
  const { breaker } = whom;
  const { verdict } = await verify({ ...breaker.deployment, nodes: breaker.nodes() });
  const target = { mode: breaker.deployment.mode, shards: verdict.shards.map(({ slots }) => slots), nodes: breaker.nodes, dial: (endpoint: { host: string; port: number }) => connect("a node", endpoint, breaker.deployment.access, 2000) };
  const writer = new Writer(target, { ...SHORT.load, rate: 2000 }, `lost:${process.pid}:`);
  try {
    await writer.start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await writer.stop();
    await lose(writer);
    return { accounting: account(writer.journal.histories(), await writer.readBack()), writer };
  } finally {
    writer.close();
  }
}

describe("accounting on servers that lose writes on purpose", () => {
  it("names exactly the writes that are cut off an append-only file", async () => {
    const { breaker } = replication;
    const primary = breaker.nodes()[0];
    const name = primary?.name ?? "";
    const cutOff: string[] = [];
    const { accounting } = await accountAfter(replication, async () => {
      // The replicas would bring nothing back, but they go too: they are to have what the primary has.
      await breaker.kill(breaker.nodes().map((node) => node.name));
      const directory = sandbox.host.servers("replication").find(({ plan }) => plan.name === name)?.dataDirectory ?? "";
      const files = readdirSync(join(directory, "appendonlydir")).filter((file) => file.endsWith(".incr.aof")).map((file) => join(directory, "appendonlydir", file));
      const file = files.sort().at(-1) ?? "";
      const text = readFileSync(file, "latin1");
      const commands = [...text.matchAll(/\*3\r\n\$3\r\n(?:SET|set)\r\n\$\d+\r\n(lost:[^\r]+)\r\n\$\d+\r\n(\d+):/g)];
      const first = commands.at(-200);
      truncateSync(file, first?.index ?? 0);
      cutOff.push(...commands.slice(-200).map(([, key = "", number = ""]) => `${key} ${number}`));
      await breaker.start(breaker.nodes().map((node) => node.name), { newAddresses: false, follows: name });
    });
    expect(cutOff).toHaveLength(200);
    expect(accounting.acknowledged).toBeGreaterThan(500);
    expect(accounting.lost.map(({ key, number }) => `${key} ${number}`).sort()).toEqual(cutOff.sort());
    expect(accounting).toMatchObject({ unread: 0, anomalies: [], undecided: 0 });
  });

  it("names exactly the writes that a replica which is promoted behind its primary never had", async () => {
    const { breaker } = cluster;
    const [struck] = (await verify({ ...breaker.deployment, nodes: breaker.nodes() })).verdict.shards;
    const index = (name: string | undefined): number => breaker.nodes().findIndex((node) => node.name === name);
    const [primary, replica] = [index(struck?.primary), index(struck?.replicas[0])];
    const current = (): typeof breaker.deployment => ({ ...breaker.deployment, nodes: breaker.nodes() });
    // It can no longer follow: what is written from now on, it does not get.
    await withNode(current(), replica, (connection) => connection.config("SET", "primaryauth", "wrong"));
    await withNode(current(), primary, (connection) => connection.call("CLIENT", "KILL", "TYPE", "replica"));
    const { accounting, writer } = await accountAfter(cluster, async () => {
      await breaker.kill([struck?.primary ?? ""]);
      await withNode(current(), replica, (connection) => connection.cluster("FAILOVER", "TAKEOVER"));
    });
    const shard = new Set(writer.journal.writes.filter((write) => write.shard === 0 && write.outcome.kind === "acknowledged").map(({ key, number }) => `${key} ${number}`));
    expect(shard.size).toBeGreaterThan(100);
    expect(new Set(accounting.lost.map(({ key, number }) => `${key} ${number}`))).toEqual(shard);
    expect(accounting).toMatchObject({ unread: 0, anomalies: [], undecided: 0 });
  });
});
