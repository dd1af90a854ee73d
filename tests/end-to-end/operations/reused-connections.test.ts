/** Connections of an inspection, as real servers count them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspectDeployment } from "../../../operations/inspection/drift";
import { reuseConnections } from "../../../valkey/reused-connections";
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
    await expect.poll(() => figures("connected_clients"), { timeout: 5000 }).toEqual(clients);
  });

  it("are taken over only while they are open and nothing in them waits", async () => {
    const [node] = cluster.deployment.nodes;
    if (node === undefined) throw new Error("there are no nodes");
    const { connect } = reuseConnections(cluster.deployment);
    const first = await connect(node);
    const second = await connect(node);
    expect(second).not.toBe(first);
    first.disconnect();
    first.disconnect();
    expect(await connect(node)).toBe(first);
    const id = String(await second.call("CLIENT", "ID"));
    second.disconnect();
    await watching.get(node)?.call("CLIENT", "KILL", "ID", id);
    // At once, while this side may not know yet.
    const third = await connect(node);
    expect(third).not.toBe(second);
    expect(await third.ping()).toBe("PONG");
    const waits = third.blpop("nothing", 0).catch(() => "ended");
    third.disconnect();
    expect(await waits).toBe("ended");
    await first.select(0);
    first.disconnect();
    await expect.poll(() => first.status, { timeout: 5000 }).toBe("end");
  });

  it("of another database are not taken over", async () => {
    const [node] = cluster.deployment.nodes;
    if (node === undefined) throw new Error("there are no nodes");
    const { connect } = reuseConnections(cluster.deployment);
    const first = await connect(node);
    await first.call("CONFIG", "GET", "databases");
    if (first.condition !== null) first.condition.select = 1;
    first.disconnect();
    expect(await connect(node)).not.toBe(first);
  });
});
