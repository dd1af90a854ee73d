/** A smaller shape by the handler that an update calls, where nodes that leave do not run. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler } from "../../../operations/handlers/deployment/scale-in";
import { readKeyCount } from "../../../valkey/databases";
import type { Deployment } from "../../../valkey/deployment";
import { verify } from "../../../valkey/verification/verify";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { Clients } from "../../support/valkey/clients";
import { useSandbox } from "../../support/valkey/hooks";
import { eventually, withNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

const sandbox = useSandbox();
let api: FakeApiServer;
beforeEach(async () => {
  api = await FakeApiServer.start();
});
afterEach(() => {
  api.stop();
});

async function formedCluster(name: string, primaries: number, replicas: number): Promise<Deployment> {
  const cluster = await sandbox.formedCluster(name, primaries, replicas, { "cluster-node-timeout": 1000 });
  await Promise.all(
    cluster.nodes.map((node, index) =>
      withNode(cluster, index, (connection) =>
        connection.config("SET", "cluster-announce-hostname", `${node.name}.nodes.valkey.svc.cluster.local`),
      ),
    ),
  );
  await eventually("all know all host names", async () => {
    const texts = await Promise.all(cluster.nodes.map((_node, index) => viewOf(cluster, index)));
    return texts.every((text) => text.split(".nodes.valkey").length === cluster.nodes.length + 1);
  });
  return cluster;
}

const viewOf = (cluster: Deployment, index: number): Promise<string> =>
  withNode(cluster, index, async (connection) => String(await connection.cluster("NODES")));

async function kill(cluster: Deployment, index: number): Promise<void> {
  const name = cluster.nodes[index]?.name ?? "";
  await withNode(cluster, index, (connection) => connection.call("SHUTDOWN", "NOSAVE").catch(() => undefined));
  api.stopContainer(name);
  await eventually(`${name} has failed`, async () => {
    const others = cluster.nodes.flatMap((_node, each) => (each === index ? [] : [viewOf(cluster, each)]));
    return (await Promise.all(others)).every((text) => new RegExp(`${name}\\.nodes\\S* \\S*fail,?\\S* `).test(text));
  });
}

const scaleIn = (
  target: KubernetesReference,
  cluster: Deployment,
  wanted: KubernetesReference["shape"],
  timeoutSeconds: number,
): Promise<object> | undefined => {
  const inputs = { target, password: cluster.access.password ?? "", timeoutSeconds };
  return handler.update?.(
    target.name,
    { ...inputs, emptiedAt: null },
    { ...inputs, target: { ...target, shape: wanted } },
    HANDLER_CONTEXT,
  );
};

describe("a smaller shape", () => {
  it("is reached at once where the nodes that leave never ran: a scale-out is taken back", async () => {
    const cluster = await formedCluster("taken", 3, 1);
    const [node] = cluster.nodes;
    if (node === undefined) throw new Error("there are no nodes");
    const target = api.serve({ ...cluster, nodes: [...cluster.nodes, node, node] }, shape(4, 1));
    for (const pod of ["taken-6", "taken-7"]) api.stopContainer(pod);
    const before = await viewOf(cluster, 0);
    // Pods that do not run would be waited for ten minutes.
    await scaleIn(target, cluster, shape(3, 1), 600);
    expect((await verify({ ...cluster, shape: shape(3, 1) })).verdict.pass).toBe(true);
    expect((await viewOf(cluster, 0)).split("\n").length).toBe(before.split("\n").length);
  });

  it("loses a node that is dead for good where the others have all slots, and keeps every key", async () => {
    const cluster = await formedCluster("dead", 4, 1);
    const target = api.serve(cluster, shape(4, 1));
    const clients = new Clients(cluster, 0);
    await clients.fill(400, 10);
    await clients.stop();
    const { verdict } = await verify(cluster);
    const index = verdict.shards.some(({ primary }) => primary === "dead-7") ? 6 : 7;
    await kill(cluster, index);
    await eventually("the others serve all slots", async () => {
      const info = await withNode(cluster, 0, (connection) => connection.cluster("INFO"));
      return info.includes("cluster_state:ok");
    });
    await scaleIn(target, cluster, shape(3, 1), 1);
    const staying = { ...cluster, shape: shape(3, 1), nodes: cluster.nodes.slice(0, 6) };
    expect((await verify(staying)).verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    const { shards } = (await verify(staying)).verdict;
    const primaries = shards.map(({ primary }) => staying.nodes.findIndex(({ name }) => name === primary));
    const keys = await Promise.all(primaries.map((each) => withNode(staying, each, readKeyCount)));
    expect(keys.reduce((sum, count) => sum + count, 0)).toBe(400);
  });

  it("is refused where slots are with a node that does not run", async () => {
    const cluster = await formedCluster("only", 4, 0);
    const target = api.serve(cluster, shape(4, 0));
    await kill(cluster, 3);
    const before = await viewOf(cluster, 0);
    await expect(scaleIn(target, cluster, shape(3, 0), 1)).rejects.toThrow(
      /^only: some slots belong to nodes that do not run, and no other node has the data of these slots. Start only-3 again/,
    );
    expect((await viewOf(cluster, 0)).split("\n").length).toBe(before.split("\n").length);
  });

  it("waits for nodes that stay", async () => {
    const cluster = await formedCluster("stays", 3, 0);
    const target = api.serve(cluster, shape(3, 0));
    await kill(cluster, 0);
    await expect(scaleIn({ ...target, shape: shape(4, 0) }, cluster, shape(3, 0), 1)).rejects.toThrow(/stays-0/);
  });
});
