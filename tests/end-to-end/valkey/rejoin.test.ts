/** Keeper and readiness probe of a cluster node whose pod has come back without data: real servers at new addresses. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { PodScripts } from "../../support/valkey/pod-scripts";
import { eventually, never, realPrograms, Sandbox, withNode } from "../../support/valkey/real";

const NAME = "empty";
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
const ALL = [0, 1, 2, 3, 4, 5];
let sandbox: Sandbox;
let pods: PodScripts;
let cluster: Deployment;

beforeAll(async () => {
  pods = new PodScripts(await realPrograms());
  sandbox = await Sandbox.open(pods.programs(0));
  cluster = await sandbox.cluster(NAME, SHAPE.primaries, SHAPE.replicasPerPrimary, {
    "cluster-node-timeout": 1500,
  });
  pods.find(cluster);
  await form(cluster, SHAPE);
});
afterAll(async () => {
  await sandbox.close();
  pods.close();
});

const nameOf = (index: number): string => cluster.nodes[index]?.name ?? "";
const directoryOf = (index: number): string => sandbox.host.run.nodeDirectory(NAME, nameOf(index));
const call = (index: number, ...command: [string, ...string[]]): Promise<unknown> =>
  withNode(cluster, index, (connection) => connection.call(...command));
const replication = async (index: number): Promise<ReadonlyMap<string, string>> =>
  parseInfo(String(await call(index, "INFO", "replication")));
const primaryOf = async (replica: number): Promise<number> => {
  const port = Number((await replication(replica)).get("master_port"));
  return cluster.nodes.findIndex(({ endpoint }) => endpoint.port === port);
};

/** Deletes pods without volumes: they are made again elsewhere, with nothing. @param service a pod that the Service leads to */
async function lose(service: number, ...indices: readonly number[]): Promise<void> {
  const names = indices.map(nameOf);
  await sandbox.host.signal(NAME, names, "SIGKILL");
  for (const index of indices)
    for (const file of readdirSync(directoryOf(index)))
      if (file !== "output") rmSync(join(directoryOf(index), file), { recursive: true });
  await sandbox.host.restart(NAME, names, { newAddresses: true }, never);
  cluster = { ...cluster, nodes: sandbox.host.nodes(NAME) };
  pods.find(cluster, service);
}

/** One readiness probe in a pod. */
const isReady = (index: number): Promise<boolean> =>
  pods.runWith({ SERVICE: "service.pods", DATA: directoryOf(index) }, "ready-cluster.sh", nameOf(index)).then(
    () => true,
    () => false,
  );

it("joins again by itself as a replica of its shard, one of a primary's pod and one of a replica's", async () => {
  const replicas = [3, 4, 5];
  const primaries = await Promise.all(replicas.map(primaryOf));
  const [successor = 0, lost = 0] = replicas;
  const [former = 0, primary = 0] = primaries;
  // A pod that was a primary, and a replica of another shard.
  await lose(successor, former, lost);
  // The first probes come before anybody has noticed; a pod alone is not ready.
  expect(await isReady(former)).toBe(false);
  const ready = new Set<number>();
  await eventually(
    "both are ready",
    async () => {
      for (const index of [former, lost]) if (await isReady(index)) ready.add(index);
      return ready.size === 2;
    },
    40_000,
  );
  expect(await primaryOf(former)).toBe(successor);
  expect(await primaryOf(lost)).toBe(primary);
  await eventually("all nodes know each other, and nobody else", async () => {
    await Promise.all([isReady(former), isReady(lost)]);
    return (await verify(cluster)).verdict.pass;
  });
});

it("stays out while nobody serves the slots that it had", async () => {
  const replicas = (await Promise.all(ALL.map(replication))).flatMap((info, index) =>
    info.get("role") === "slave" ? [index] : [],
  );
  const [replica = 0, other = 0] = replicas;
  const primary = await primaryOf(replica);
  // Others may find the replica failed before the primary. Its pod would rightly join then, to follow the primary.
  await sandbox.host.signal(NAME, [nameOf(primary), nameOf(replica)], "SIGKILL");
  await eventually("others find both failed", async () =>
    String(await call(other, "CLUSTER", "INFO")).includes("cluster_nodes_fail:2"),
  );
  await lose(other, primary, replica);
  // The keepers take some turns meanwhile.
  for (let probe = 0; probe < 3; probe++) {
    await sleep(2000);
    for (const index of [primary, replica]) expect(await isReady(index)).toBe(false);
  }
  for (const index of [primary, replica])
    expect(String(await call(index, "CLUSTER", "INFO"))).toContain("cluster_known_nodes:1");
});
