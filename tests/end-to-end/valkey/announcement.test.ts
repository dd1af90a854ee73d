/** Clients that reach the nodes of a real cluster by other addresses than the nodes reach each other. */
import { readFileSync } from "node:fs";
import { type AddressInfo, type Server, connect as dial, createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "../../../platforms/host/ports";
import { type Announced, announce, announcementDrift } from "../../../valkey/announcement";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import type { Endpoint } from "../../../valkey/node";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { verify } from "../../../valkey/verification/verify";
import { ResizableCluster } from "../../support/valkey/resizable-cluster";
import { useSandbox } from "../../support/valkey/hooks";
import { eventually, olderPrograms, realPrograms, Sandbox, withNode, callNode } from "../../support/valkey/real";
import { startTlsServer } from "../../support/valkey/tls-server";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
/** A node tells the others of another address within half of this. */
const SOON = { "cluster-node-timeout": 2000 };
const LIMITS = { timeoutMs: 30_000 };

/** Stands between clients and one node, as a node port does. */
interface Forward {
  readonly endpoint: Endpoint;
  readonly server: Server;
  connections: number;
}

async function forwardTo(target: Endpoint, host = "127.0.0.1"): Promise<Forward> {
  const server = createServer((near) => {
    forward.connections++;
    const far = dial(target);
    near.on("error", () => far.destroy()).pipe(far);
    far.on("error", () => near.destroy()).pipe(near);
  });
  server.listen(0, host);
  await once(server, "listening");
  const forward = {
    endpoint: { host, port: (server.address() as AddressInfo).port },
    server,
    connections: 0,
  };
  return forward;
}

const sandbox = useSandbox();
let deployment: Deployment;
let forwards: Forward[];
beforeAll(async () => {
  deployment = await sandbox.formedCluster("reached", SHAPE.primaries, SHAPE.replicasPerPrimary, SOON);
  forwards = await Promise.all(deployment.nodes.map(({ endpoint }) => forwardTo(endpoint)));
});
afterAll(() => {
  for (const { server } of forwards) server.close();
});

const announced = (): Announced =>
  new Map(deployment.nodes.map((node, index) => [node, forwards[index]?.endpoint] as const));
const nowhere = (): Announced => new Map();

async function writeAllSlots(start: Endpoint): Promise<number> {
  const client = new Cluster([start], { redisOptions: { password: deployment.access.password ?? "" } });
  client.on("error", () => undefined);
  try {
    const answers = await Promise.all(slotTags().map((tag) => client.set(`{${tag}}`, "x")));
    return answers.length;
  } finally {
    client.disconnect();
  }
}

describe("addresses that nodes give to clients", () => {
  it("lead a client to every slot, and nodes go on as they were", async () => {
    await announce(deployment, announced(), false, LIMITS);
    const [first] = forwards;
    if (first === undefined) throw new Error("there is no node");
    expect(await writeAllSlots(first.endpoint)).toBe(16_384);
    expect(forwards.slice(0, 3).every(({ connections }) => connections > 0)).toBe(true);
    const links = await withNode(deployment, 4, (connection) => connection.info("replication"));
    const ports = deployment.nodes.map(({ endpoint }) => endpoint.port);
    expect(ports).toContain(Number(/^master_port:(\d+)/m.exec(links)?.[1]));
    expect((await verify(deployment)).verdict.pass).toBe(true);
    expect(await announcementDrift(deployment, announced(), false)).toEqual([]);
  });

  it("are given again when somebody changed one by hand", async () => {
    await callNode(deployment, 2, "CONFIG", "SET", "cluster-announce-client-port", "1");
    expect(await announcementDrift(deployment, announced(), false)).toEqual([
      `reached-2: cluster-announce-client-port is "1", not "${forwards[2]?.endpoint.port ?? ""}"`,
    ]);
    await announce(deployment, announced(), false, LIMITS);
    expect(await announcementDrift(deployment, announced(), false)).toEqual([]);
  });

  it("are the nodes' own again when nobody outside connects", async () => {
    await announce(deployment, nowhere(), false, LIMITS);
    for (const forward of forwards) forward.connections = 0;
    const [first] = deployment.nodes;
    if (first === undefined) throw new Error("there is no node");
    expect(await writeAllSlots(first.endpoint)).toBe(16_384);
    expect(forwards.map(({ connections }) => connections)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("take the place of host names with TLS: a client then names the host whose certificate it expects", async () => {
    const [busPort = 0] = await findFreePorts(1);
    const { port, certificate, stop } = await startTlsServer(sandbox, join(sandbox.host.run.path, "tls"), {
      "cluster-enabled": "yes",
      "tls-cluster": "yes",
      "cluster-port": String(busPort),
      "cluster-announce-hostname": "localhost",
      "cluster-preferred-endpoint-type": "hostname",
    });
    const endpoint = { host: "127.0.0.1", port };
    const node = { name: "tls-0", machine: "here", zone: undefined, endpoint };
    const access = { tls: { insecure: true } };
    const cluster: Deployment = {
      ...{ ...deployment, name: "tls", nodes: [node], access },
      connect: () => connect("tls-0", endpoint, access),
    };
    // An address that the certificate has not.
    const forward = await forwardTo(endpoint, "127.0.0.2");
    try {
      await callNode(cluster, 0, "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
      await announce(cluster, new Map([[node, forward.endpoint]]), true, LIMITS);
      await eventually("it serves all slots", () =>
        withNode(cluster, 0, async (connection) => (await connection.cluster("INFO")).includes("cluster_state:ok")),
      );
      const ca = readFileSync(certificate);
      const write = async (tls: object): Promise<unknown> => {
        const client = new Cluster([forward.endpoint], { redisOptions: { tls }, clusterRetryStrategy: () => null });
        client.on("error", () => undefined);
        return client.set("a", "b").finally(() => {
          client.disconnect();
        });
      };
      await expect(write({ ca })).rejects.toThrow();
      expect(await write({ ca, servername: "localhost" })).toBe("OK");
      await announce(cluster, nowhere(), true, LIMITS);
      expect(
        await withNode(cluster, 0, (connection) => connection.config("GET", "cluster-preferred-endpoint-type")),
      ).toEqual(["cluster-preferred-endpoint-type", "hostname"]);
    } finally {
      forward.server.close();
      stop();
    }
  });

  it.for([true, false])("are no way for slots to move: atomically %s", async (isAtomic, { skip }) => {
    const programs =
      (isAtomic ? await realPrograms() : await olderPrograms()) ?? skip("no Valkey of that version here");
    const resizing = new ResizableCluster();
    try {
      await resizing.open(SOON, programs);
      const { nodes } = resizing.deployment;
      // Nobody listens there.
      const elsewhere = new Map(nodes.map((node) => [node, { ...node.endpoint, host: "127.0.0.9" }]));
      for (const [index] of nodes.entries())
        await withNode(resizing.deployment, index, async (connection) => {
          const answers = await Promise.allSettled(slotTags().map((tag) => connection.set(`{${tag}}`, tag)));
          expect(answers.some(({ status }) => status === "fulfilled")).toBe(index < SHAPE.primaries);
        });
      await announce(resizing.deployment, elsewhere, false, LIMITS);
      const wanted = { primaries: 4, replicasPerPrimary: 0 };
      if (isAtomic) {
        await resizing.resizeTo(wanted);
        expect(await resizing.violations({ ...resizing.deployment, hasClientsElsewhere: true })).toEqual([]);
        expect(await callNode(resizing.deployment, 3, "DBSIZE")).toBe(4096);
      } else {
        // Each slot moves in the same way.
        await resizing.resizeInterrupted(wanted, /migrated [1-9]\d* of \d+ slots/);
        expect(await callNode(resizing.deployment, 3, "DBSIZE")).toBeGreaterThan(0);
      }
    } finally {
      await resizing.close();
    }
  });

  it("have their own port only where the server can give it, and nothing changes where it cannot", async (context) => {
    const programs = await olderPrograms();
    if (programs === undefined) return context.skip("Valkey 8.1 cannot be had here");
    const older = await Sandbox.open(programs);
    try {
      const cluster = await older.formedCluster("older", SHAPE.primaries, 0);
      const at = (host: string, port?: number): Announced =>
        new Map(cluster.nodes.map((node) => [node, { host, port: port ?? node.endpoint.port }]));
      await announce(cluster, at("127.0.0.9"), false, LIMITS);
      await expect(announce(cluster, at("127.0.0.8", 30_000), false, LIMITS)).rejects.toThrow(
        /^older-0 does not have the directive cluster-announce-client-port, so it cannot give clients port 30000\. Node ports need Valkey 9\.1/,
      );
      expect(await announcementDrift(cluster, at("127.0.0.9"), false)).toEqual([]);
    } finally {
      await older.close();
    }
  });
});
