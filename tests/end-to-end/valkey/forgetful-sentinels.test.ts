/** Sentinels that have lost their memory: the start script of the lost primary, with real servers and Sentinels. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import type { DeploymentNode } from "../../../valkey/node";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { hastenSentinels } from "../../support/valkey/sentinels";
import {
  callNode,
  eventually,
  never,
  realPrograms,
  replicationOf,
  Sandbox,
  withNode,
  ZONES,
} from "../../support/valkey/real";

const NAME = "forgotten";
const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const SENTINEL = { count: 3, quorum: 2, downAfterMs: 2000, failoverTimeoutMs: 10_000 };

let sandbox: Sandbox;
let pods: PodScripts;
let deployment: Deployment;
beforeAll(async () => {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open();
  deployment = await sandbox.host.start(
    {
      ...{ name: NAME, mode: "replication", shape: SHAPE, settings: { save: "", "repl-diskless-sync-delay": 0 } },
      ...{ zones: ZONES, zoneAddresses: true, sentinel: SENTINEL },
    },
    never,
  );
  await hastenSentinels(deployment);
  pods.find(deployment);
  await sandbox.host.form(deployment, SHAPE, {});
});
afterAll(async () => {
  await sandbox.close();
  pods.close();
});

async function tellSentinels(...command: [string, ...string[]]): Promise<void> {
  for (const node of deployment.sentinels?.nodes ?? []) {
    const connection = await deployment.connect(node);
    await connection.call(...command).finally(() => {
      connection.disconnect();
    });
  }
}

/** The server that has taken over. */
let leading = 0;
const roles = (): Promise<unknown[]> =>
  Promise.all([1, 2].map(async (index) => (await replicationOf(deployment, index)).get("role")));

const SENTINELS = { SENTINELS: ".pods", COUNT: "3", QUORUM: "2", DOWN_AFTER: "2000", FAILOVER_TIMEOUT: "10000" };
/** Runs a script in the pod of a server, or of a Sentinel. */
function run(node: DeploymentNode | undefined, script: string, ...args: readonly string[]): Promise<void> {
  const { name = "", endpoint } = node ?? {};
  const directory = sandbox.host.run.nodeDirectory(NAME, name);
  const places = { DATA: directory, CONFIG_DIRECTORY: directory, POD_IP: endpoint?.host ?? "" };
  return pods.runWith({ DEPLOYMENT: NAME, ...SENTINELS, ...places }, script, name, ...args);
}

it("lets a replica take over that Sentinels name, although it follows the primary that starts, and answers late", async () => {
  const [primary, named] = deployment.nodes;
  const password = deployment.access.password ?? "";
  await withNode(deployment, 0, async (connection) => {
    await connection.set("key", "value");
    expect(await connection.call("WAIT", 2, 10_000)).toBe(2);
  });
  await tellSentinels("ACL", "SETUSER", "admin", "on", `>${password}`, "~*", "&*", "+@all");
  await tellSentinels("SENTINEL", "REMOVE", NAME);
  await tellSentinels("SENTINEL", "MONITOR", NAME, named?.endpoint.host ?? "", String(named?.endpoint.port), "2");
  await tellSentinels("SENTINEL", "SET", NAME, "auth-pass", password, "down-after-milliseconds", "2000");
  await sandbox.host.signal(NAME, [primary?.name ?? ""], "SIGKILL");
  const directory = sandbox.host.run.nodeDirectory(NAME, primary?.name ?? "");
  writeFileSync(join(directory, "servers"), "3\n");
  const [program = "", started = ""] = ["program", "started"].map((name) => join(directory, name));
  writeFileSync(program, `#!/bin/sh\necho "$@" >${started}\n`, { mode: 0o755 });
  await sandbox.host.signal(NAME, [named?.name ?? ""], "SIGSTOP");
  const script = run(primary, "start-replication.sh", "60", program, join(directory, "valkey.conf"));
  await sleep(2500);
  await sandbox.host.signal(NAME, [named?.name ?? ""], "SIGCONT");
  await script;
  leading = (await roles()).indexOf("master") + 1;
  expect(leading, readFileSync(started, "utf8")).not.toBe(0);
  expect(readFileSync(started, "utf8")).toContain(`--replicaof ${deployment.nodes[leading]?.name ?? ""}.pods 6379`);
  expect(await callNode(deployment, leading, "GET", "key")).toBe("value");
}, 90_000);

it("starts a server again that follows the named one, although that one follows it", async () => {
  const name = deployment.nodes[0]?.name ?? "";
  const [own, leader] = [deployment.nodes[0]?.endpoint, deployment.nodes[leading]?.endpoint];
  // No Sentinel has a replica that it could promote.
  await sandbox.host.signal(NAME, [deployment.nodes[3 - leading]?.name ?? ""], "SIGKILL");
  await callNode(deployment, leading, "REPLICAOF", own?.host ?? "", own?.port ?? 0);
  await tellSentinels("SENTINEL", "RESET", NAME);
  await sandbox.host.restart(NAME, [name], { newAddresses: false, replicaOf: leader }, never);
  const isOver = async (): Promise<boolean> => {
    await run(deployment.nodes[0], "keep-replication.sh").catch(() => undefined);
    return callNode(deployment, 0, "PING").then(
      () => false,
      () => true,
    );
  };
  await eventually("it ends, to start again", isOver, 60_000);
}, 90_000);

it("has a Sentinel watch the primary that watches a server that is gone, and knows no replica", async () => {
  const [gone, leader] = [deployment.nodes[0], deployment.nodes[leading]];
  await callNode(deployment, leading, "REPLICAOF", "NO", "ONE");
  await tellSentinels("SENTINEL", "REMOVE", NAME);
  await tellSentinels("SENTINEL", "MONITOR", NAME, gone?.endpoint.host ?? "", String(gone?.endpoint.port), "2");
  const [sentinel] = deployment.sentinels?.nodes ?? [];
  writeFileSync(join(sandbox.host.run.nodeDirectory(NAME, sentinel?.name ?? ""), "servers"), "3\n");
  const connection = await deployment.connect(sentinel as DeploymentNode);
  const named = async (): Promise<boolean> => {
    await run(sentinel, "keep-sentinel.sh").catch(() => undefined);
    const answer = await connection.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME);
    return String(answer) === `${leader?.endpoint.host ?? ""},${leader?.endpoint.port ?? 0}`;
  };
  const began = performance.now();
  await eventually("it watches the primary", named, 40_000).finally(() => {
    connection.disconnect();
  });
  expect(performance.now() - began).toBeGreaterThan(14_000);
}, 90_000);
