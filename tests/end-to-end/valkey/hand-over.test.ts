/** Script that runs in the pod of a cluster node before its server stops: real servers. */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, never, realPrograms, withNode, ZONES } from "../../support/valkey/real";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const sandbox = useSandbox();
let pods: PodScripts;
let cluster: Deployment;

beforeAll(async () => {
  pods = new PodScripts(await realPrograms());
  cluster = await sandbox.host.start(
    {
      name: "stop",
      mode: "cluster",
      shape: SHAPE,
      settings: { save: "", "repl-diskless-sync-delay": 0 },
      zones: ZONES,
      // The script knows replicas by their addresses.
      zoneAddresses: true,
    },
    never,
  );
  for (const [index, node] of cluster.nodes.entries())
    await callNode(cluster, index, "CONFIG", "SET", "cluster-announce-hostname", `${node.name}.pods`);
  await form(cluster, SHAPE);
});
afterAll(() => {
  pods.close();
});

const role = async (index: number): Promise<unknown[]> => (await callNode(cluster, index, "ROLE")) as unknown[];
const savesAtEnd = async (index: number): Promise<boolean> =>
  String(await callNode(cluster, index, "CONFIG", "GET", "shutdown-on-sigterm")).endsWith("save");

async function firstPair(): Promise<{ readonly replica: number; readonly primary: number }> {
  const roles = await Promise.all(cluster.nodes.map((_node, index) => role(index)));
  const replica = roles.findIndex(([kind]) => kind === "slave");
  const primary = cluster.nodes.findIndex(({ endpoint: { port } }) => port === roles[replica]?.[2]);
  return { replica, primary };
}
/** Has the script find nodes by their names, and the replica by an address that it may share with another. */
function find(replica: number): void {
  const { nodes } = cluster;
  pods.find({ ...cluster, nodes: [...nodes.slice(replica, replica + 1), ...nodes] });
}
/** Has the script find the replica by its address only. @param instead node to which the replica's name leads */
function findByAddress(replica: number, instead?: number): void {
  const { nodes } = cluster;
  const renamed = nodes.slice(replica, replica + 1).map((node) => ({ ...node, name: "unnamed" }));
  const wrong = nodes.flatMap((node, index) => (index === instead ? [{ ...node, name: name(replica) }] : []));
  pods.find({ ...cluster, nodes: [...renamed, ...wrong, ...nodes.filter((_node, index) => index !== replica)] });
}
const name = (index: number): string => cluster.nodes[index]?.name ?? "";

it("hands over to a replica that has just joined when all primaries know it, so that none refuses clients", async () => {
  const { replica, primary } = await firstPair();
  const roles = await Promise.all(cluster.nodes.map((_node, index) => role(index)));
  const primaries = roles.flatMap(([kind], index) => (kind === "master" ? [index] : []));
  const other = primaries.find((index) => index !== primary) ?? -1;
  find(replica);
  const on = (index: number, ...command: [string, ...(string | number)[]]): Promise<unknown> =>
    callNode(cluster, index, ...command);
  const former = String(await on(replica, "CLUSTER", "MYID"));
  const { endpoint: { host, port } = { host: "", port: 0 }, busPort = 0 } = cluster.nodes[replica] ?? {};
  await on(replica, "CLUSTER", "RESET", "HARD");
  const others = cluster.nodes.flatMap((_node, index) => (index === replica ? [] : [index]));
  await Promise.all(others.map((index) => on(index, "CLUSTER", "FORGET", former)));
  // This primary does not learn of the new node before it goes on.
  await sandbox.host.signal("stop", [name(other)], "SIGSTOP");
  await on(primary, "CLUSTER", "MEET", host, port, busPort);
  const id = String(await on(primary, "CLUSTER", "MYID"));
  await eventually("the replica knows its primary", () =>
    on(replica, "CLUSTER", "REPLICATE", id).then(
      () => true,
      () => false,
    ),
  );
  await eventually("the replica is linked", async () => (await role(replica))[3] === "connected");
  const handOver = pods.run("hand-over.sh", name(primary), "30");
  await sleep(1500);
  const commands = String(await on(replica, "INFO", "commandstats"));
  await sandbox.host.signal("stop", [name(other)], "SIGCONT");
  expect(commands).not.toContain("cluster|failover");
  const states = new Set<string>();
  let isOver = false;
  // Until a while after the hand-over.
  const over = handOver.then(() => sleep(1000)).finally(() => (isOver = true));
  await withNode(cluster, other, async (connection) => {
    while (!isOver) {
      states.add(/cluster_state:(\w+)/.exec(await connection.cluster("INFO"))?.[1] ?? "");
      await sleep(10);
    }
  });
  await over;
  expect((await role(replica))[0]).toBe("master");
  expect([...states]).toEqual(["ok"]);
});

it("hands over when the replica's host name leads to the replica, so that clients find it", async () => {
  const { replica, primary } = await firstPair();
  const failovers = async (): Promise<string> => String(await callNode(cluster, replica, "INFO", "commandstats"));
  await callNode(cluster, replica, "CONFIG", "RESETSTAT");
  // DNS does not have the name yet, and then has the address of another pod.
  findByAddress(replica);
  const handOver = pods.run("hand-over.sh", name(primary), "30");
  await sleep(1000);
  findByAddress(replica, primary);
  await sleep(1000);
  expect(await failovers()).not.toContain("cluster|failover");
  find(replica);
  await handOver;
  expect(await failovers()).toContain("cluster|failover");
  expect((await role(replica))[0]).toBe("master");
});

it("hands a primary over, and saves a node that becomes a primary while its pod stops already", async () => {
  const { replica, primary } = await firstPair();
  find(replica);
  // All pods stop. The replica's is about to end when its primary hands over to it, and ends itself.
  const awake = pods.holdSleep(3);
  const replicaStops = pods.run("hand-over.sh", name(replica), "30");
  const primaryStops = pods.run("hand-over.sh", name(primary), "30");
  await eventually("the primary hands over", async () => (await role(replica))[0] === "master");
  await sandbox.host.signal("stop", [name(primary)], "SIGKILL");
  writeFileSync(awake, "");
  await Promise.all([replicaStops, primaryStops]);
  expect(await savesAtEnd(replica)).toBe(true);
});
