/** Connections of an inspection, as real servers count them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspectDeployment } from "../../../provider/updates/drift";
import { SharedConnections } from "../../../valkey/shared-connections";
import { openConnections, closeConnections, type Connections } from "../../../valkey/connections";
import { readInfoSections } from "../../../valkey/connection";
import { parseInfo } from "../../../valkey/topology/replies";
import { useResizableCluster } from "../../support/valkey/hooks";
import { never, referenceTo } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

describe("the connections of an inspection", { timeout: 120_000 }, () => {
  const cluster = useResizableCluster();
  let watching: Connections;
  beforeAll(async () => {
    watching = await openConnections(cluster.deployment);
  });
  afterAll(() => {
    closeConnections(watching);
  });
  const figures = async (name: string): Promise<number[]> =>
    Promise.all(
      [...watching.values()].map(async (each) =>
        Number(parseInfo(await readInfoSections(each, "clients", "stats")).get(name)),
      ),
    );

  it("are one for each node, and none stays open", async () => {
    const { access } = cluster.deployment;
    const target = referenceTo(cluster.deployment, shape(3, 1));
    const before = await figures("total_connections_received");
    const clients = await figures("connected_clients");
    const { verification } = await inspectDeployment(target, access.password ?? "", { signal: never });
    expect(verification?.verdict.pass).toBe(true);
    expect(await figures("total_connections_received")).toEqual(before.map((count) => count + 1));
    await expect.poll(() => figures("connected_clients")).toEqual(clients);
  });

  it("are shared only while they are open and nobody uses them", async () => {
    const [node] = cluster.deployment.nodes;
    if (node === undefined) throw new Error("there are no nodes");
    const connections = new SharedConnections();
    const { connect } = connections.share(cluster.deployment);
    const first = await connect(node);
    const second = await connect(node);
    expect(second).not.toBe(first);
    first.disconnect();
    expect(await connect(node)).toBe(first);
    second.disconnect();
    await watching.get(node)?.call("CLIENT", "KILL", "ID", String(await second.call("CLIENT", "ID")));
    await expect.poll(() => second.status).toBe("end");
    const third = await connect(node);
    expect(third).not.toBe(second);
    expect(await third.ping()).toBe("PONG");
    connections.close();
    await expect.poll(() => [first.status, third.status]).toEqual(["end", "end"]);
  });
});
