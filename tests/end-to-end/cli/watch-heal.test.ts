/** `watch --heal` beside real servers: what it repairs, what keeps it from a repair, and how it ends during one. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { acquireProcessLock } from "../../../lib/system/process-lock";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import type { Command } from "../../support/command";
import { Place } from "../../support/command";
import { pulumiWithState, verifiedDeployment } from "../../support/pulumi/exported-state";
import { Sandbox, withNode } from "../../support/valkey/real";

let sandbox: Sandbox;
let place: Place;
beforeAll(async () => {
  sandbox = await Sandbox.open();
});
afterAll(() => sandbox.close());
beforeEach(() => {
  place = new Place();
});
afterEach(() => place.close());

const failing = async (deployment: Deployment): Promise<string[]> =>
  (await verify(deployment)).verdict.assertions.filter(({ pass }) => !pass).map(({ id }) => id);

describe("watch --heal of servers that exist already", { timeout: 300_000 }, () => {
  let orders: Deployment;
  beforeAll(async () => {
    orders = await sandbox.replication("orders", 2, { "repl-diskless-sync-delay": 1 });
    await form(orders, { primaries: 1, replicasPerPrimary: 2 });
    await withNode(orders, 0, (connection) => connection.set("key", "value"));
  });

  const start = (...options: readonly string[]): Promise<Command> =>
    place.start(
      [
        ...["watch", "--mode", "replication", "--every", "1", ...options],
        ...orders.nodes.flatMap(({ endpoint, zone }) => ["--node", `127.0.0.1:${endpoint.port}=${zone ?? ""}`]),
      ],
      { VALKEY_PASSWORD: orders.access.password },
    );
  const followWrong = (): Promise<unknown> =>
    withNode(orders, 2, (connection) => connection.replicaof("127.0.0.1", orders.nodes[1]?.endpoint.port ?? 0));
  const followed = (): Promise<string | undefined> =>
    withNode(orders, 2, async (connection) => parseInfo(await connection.info("replication")).get("master_port"));

  it("makes a replica follow the primary again, but only after a look has passed", async () => {
    await followWrong();
    const early = await start("--heal", "--json");
    await early.printed(/"kind":"waiting","message":"nothing is repaired: no verification has passed yet/);
    early.child.kill("SIGINT");
    expect(await early.ended).toMatchObject({ status: 1 });
    await withNode(orders, 2, (connection) => connection.replicaof("127.0.0.1", orders.nodes[0]?.endpoint.port ?? 0));
    const command = await start("--heal");
    await command.printed(/replication: PASS/);
    await followWrong();
    await command.printed(/replication: nothing is repaired: the deployment may recover by itself\n/);
    await command.printed(/replication: repairing .*without a hand-over\n.*replication: repaired /);
    await command.printed(/PASS — all \d+ assertions hold, after \S+ of FAIL/);
    expect(await followed()).toBe(String(orders.nodes[0]?.endpoint.port));
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 0 });
    // The settings that somebody had configured are still there.
    const delay = await withNode(orders, 0, (connection) => connection.config("GET", "repl-diskless-sync-delay"));
    expect(delay).toEqual(["repl-diskless-sync-delay", "1"]);
  });

  it("repairs nothing without --heal", async () => {
    const command = await start();
    await command.printed(/replication: PASS/);
    await followWrong();
    await command.printed(/replication: FAIL/);
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    expect(command.output).not.toContain("repair");
    expect(await followed()).toBe(String(orders.nodes[1]?.endpoint.port));
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 1 });
  });

  it("refuses servers whose settings or zones it must not read", async () => {
    const nodes = ["--node", "127.0.0.1:1"];
    const { status, output } = await place.call([
      ...["watch", "--mode", "cluster", ...nodes, "--heal", "--without", "settings", "--without", "zones"],
    ]);
    expect(status).toBe(2);
    for (const each of ["settings", "zones"])
      expect(output).toContain(`--heal cannot be used with --without ${each}, because a repair needs the ${each}`);
  });
});

describe("watch --heal of a stack on this machine", { timeout: 300_000 }, () => {
  let cluster: Deployment;
  let primary: number;
  let replica: number;
  beforeAll(async () => {
    cluster = await sandbox.cluster("cluster", 3, 1);
    await form(cluster, { primaries: 3, replicasPerPrimary: 1 });
  });
  beforeEach(async () => {
    // A test that failed may have left a broken cluster.
    await form(cluster, { primaries: 3, replicasPerPrimary: 1 });
    const [shard] = (await verify(cluster)).verdict.shards;
    primary = cluster.nodes.findIndex(({ name }) => name === shard?.primary);
    replica = cluster.nodes.findIndex(({ name }) => name === shard?.replicas[0]);
  });

  const lock = (): string => join(place.directory, "change");
  const state = (more: object = {}): NodeJS.ProcessEnv =>
    pulumiWithState(place.directory, { resources: [verifiedDeployment(cluster, lock())], ...more });
  const start = (): Promise<Command> => place.start(["watch", "dev", "--every", "1", "--heal"], state());
  const loseData = (): Promise<unknown> =>
    withNode(cluster, replica, (connection) => connection.call("CLUSTER", "RESET", "HARD"));

  it("lets a node join again that came back empty, but not while an update changes the stack", async () => {
    const command = await start();
    await command.printed(/cluster: PASS/);
    const release = acquireProcessLock(lock());
    await loseData();
    await command.printed(/nothing is repaired: a different process is changing the servers\n/);
    state({ pending_operations: [{ type: "updating" }] });
    release?.();
    await command.printed(
      /nothing is repaired: the last update of stack dev still runs or has failed; if it has failed, run pulumi up\n/,
    );
    expect(command.output).not.toContain("cluster: repairing");
    state();
    await command.printed(/cluster: repaired [^]*PASS — all \d+ assertions hold, after \S+ of FAIL/);
    expect(await failing(cluster)).toEqual([]);
    command.child.kill("SIGINT");
    expect(await command.ended).toMatchObject({ status: 0 });
  });

  it("ends in order during a repair, with the servers' own settings and a free lock", async () => {
    const settings = async (): Promise<unknown> =>
      Promise.all(
        cluster.nodes.map((_node, index) =>
          withNode(cluster, index, (each) => each.call("CONFIG", "GET", "repl-diskless-*", "cluster-node-timeout")),
        ),
      );
    const before = await settings();
    await withNode(cluster, primary, async (connection) => {
      // The copy of the data takes 10 s.
      for (let key = 0; key < 100; key++) await connection.call("SET", `key:${key}`, "value").catch(() => undefined);
      await connection.config("SET", "rdb-key-save-delay", "300000");
    });
    const command = await start();
    await command.printed(/cluster: PASS/);
    await loseData();
    await command.printed(/cluster: repairing /);
    command.child.kill("SIGINT");
    const { status, output } = await command.ended;
    expect(status).toBe(1);
    expect(output).toMatch(/cluster: cannot repair .*: stopped by SIGINT\n$/);
    expect(await settings()).toEqual(before);
    expect(acquireProcessLock(lock())).toBeDefined();
    await withNode(cluster, primary, (connection) => connection.config("SET", "rdb-key-save-delay", "0"));
  });

  it("refuses a stack whose updates do not know the lock", async () => {
    const environment = pulumiWithState(place.directory, { resources: [verifiedDeployment(cluster)] });
    const { status, output } = await place.run(["watch", "dev", "--heal"], environment);
    expect(status).toBe(2);
    expect(output).toContain(
      "--heal: cluster has no lock that prevents a repair during an update; run pulumi up --refresh",
    );
  });
});
