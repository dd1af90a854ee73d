/** The endpoints that a real cluster gives to clients: right ones pass, and wrong ones fail whatever is wrong. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "../../../platforms/host/ports";
import { type Connection, connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import type { Endpoint, NodeAccess } from "../../../valkey/node";
import { verify } from "../../../valkey/verification/verify";
import { startPlainServer } from "../../support/valkey/plain-server";
import { useSandbox } from "../../support/valkey/hooks";
import { startTlsServer } from "../../support/valkey/tls-server";
import { callNode, clusterViews, eventually, failing } from "../../support/valkey/real";

const sandbox = useSandbox();
let cluster: Deployment;
beforeAll(async () => {
  cluster = await sandbox.formedCluster("cluster", 3, 0, { "cluster-node-timeout": 1000 });
});

const DEFAULTS = {
  ...{ "cluster-announce-ip": "", "cluster-announce-port": "0", "cluster-announce-tls-port": "0" },
  ...{ "cluster-announce-hostname": "", "cluster-preferred-endpoint-type": "ip" },
  ...{ "cluster-announce-client-ipv4": "", "cluster-announce-client-ipv6": "" },
};
const set = (index: number, settings: Readonly<Record<string, string>>): Promise<unknown> =>
  callNode(cluster, index, "CONFIG", "SET", ...Object.entries(settings).flat());
const setAll = (settings: Readonly<Record<string, string>>): Promise<unknown> =>
  Promise.all(cluster.nodes.map((_node, index) => set(index, settings)));
const portOf = (index: number): string => String(cluster.nodes[index]?.endpoint.port);
const found = async (deployment = cluster): Promise<string | undefined> =>
  (await verify(deployment)).verdict.assertions.find(({ id }) => id === "clients-led")?.found;
const passes = (): Promise<void> => eventually("it passes", async () => (await failing(cluster)).length === 0);
const says = (text: string): Promise<void> =>
  eventually(`the row says ${text}`, async () => {
    const all = await failing(cluster);
    return all.length === 1 && all[0] === `clients-led: ${text}`;
  });
const known = (text: string, count: number): Promise<void> =>
  eventually(`all nodes know ${text}`, async () =>
    (await clusterViews(cluster)).every((view) => view.split(text).length === count + 1),
  );

afterEach(async () => {
  await setAll(DEFAULTS);
  await passes();
});

describe("an announced port", () => {
  it("of a different node fails, and both nodes are named", async () => {
    expect(await found()).toBe("each of 3 announced endpoints to its node");
    await set(0, { "cluster-announce-port": portOf(1) });
    await says(`cluster-0: is announced at 127.0.0.1:${portOf(1)}, which leads to cluster-1`);
  });

  it("at which no server listens fails", async () => {
    await set(0, { "cluster-announce-port": "1" });
    await says(
      "cluster-0: is announced at 127.0.0.1:1, where no node can be reached (connect ECONNREFUSED 127.0.0.1:1)",
    );
  });

  it("of a server that is not part of the cluster fails", async () => {
    const stranger = await sandbox.cluster("stranger", 1, 0);
    await callNode(stranger, 0, "CONFIG", "SET", "requirepass", cluster.access.password ?? "");
    const port = String(stranger.nodes[0]?.endpoint.port);
    await set(0, { "cluster-announce-port": port });
    await eventually("it fails", async () =>
      /^cluster-0: is announced at \S+, which leads to a different server \(node ID \w{8}…\)$/.test(
        (await found()) ?? "",
      ),
    );
    await callNode({ ...stranger, connect: cluster.connect }, 0, "CONFIG", "SET", "requirepass", "another");
    await says(
      `cluster-0: is announced at 127.0.0.1:${port}, where no node can be reached (the server refuses the password)`,
    );
  });

  it("for clients with TLS fails if nothing listens there, or a port without TLS", async () => {
    await set(0, { "cluster-announce-tls-port": "1" });
    await says(
      "cluster-0: is announced at 127.0.0.1:1 with TLS, where no node can be reached (connect ECONNREFUSED 127.0.0.1:1)",
    );
    await set(0, { "cluster-announce-tls-port": portOf(1) });
    await says(
      `cluster-0: is announced at 127.0.0.1:${portOf(1)} with TLS, where no node can be reached (cluster-1 listens there without TLS)`,
    );
  });

  it("for clients with TLS is not told apart if something listens there, but two nodes cannot share it", async () => {
    const proxy = await startPlainServer();
    try {
      await set(0, { "cluster-announce-tls-port": String(proxy.port) });
      expect(await found()).toBe("each of 4 announced endpoints to one node (1 could not be tried from here)");
      await set(1, { "cluster-announce-tls-port": String(proxy.port) });
      await says(
        `cluster-0: is announced at 127.0.0.1:${proxy.port} with TLS, as is cluster-1; ` +
          `cluster-1: is announced at 127.0.0.1:${proxy.port} with TLS, as is cluster-0`,
      );
    } finally {
      await proxy.close();
    }
  });
});

describe("an announced address", () => {
  it("for clients fails if it leads nowhere, over both versions of IP", async () => {
    await set(0, { "cluster-announce-client-ipv4": "127.0.0.9" });
    await says(
      `cluster-0: is announced at 127.0.0.9:${portOf(0)}, where no node can be reached (connect ECONNREFUSED 127.0.0.9:${portOf(0)})`,
    );
    await set(0, { ...DEFAULTS, "cluster-announce-client-ipv6": "0:0:0:0:0:0:0:1" });
    await says(
      `cluster-0: is announced at [0:0:0:0:0:0:0:1]:${portOf(0)}, where no node can be reached (connect ECONNREFUSED 0:0:0:0:0:0:0:1:${portOf(0)})`,
    );
  });

  it("of IPv6 passes if the node listens there, over whichever version verification connects", async () => {
    await callNode(cluster, 0, "CONFIG", "SET", "bind", "127.0.0.1 ::1");
    await set(0, { "cluster-announce-client-ipv6": "::1" });
    expect(await found()).toBe("each of 4 announced endpoints to its node");
    const overIpv6: Deployment = {
      ...cluster,
      nodes: cluster.nodes.map((node, index) =>
        index === 0 ? { ...node, endpoint: { ...node.endpoint, host: "::1" } } : node,
      ),
    };
    expect(await found(overIpv6)).toMatch(/^each of \d announced endpoints to its node$/);
    await callNode(cluster, 0, "CONFIG", "SET", "bind", "127.0.0.1");
  });

  it("to which a connection leads already is not tried again", async () => {
    const before = await connectionsOf(2);
    await verify(cluster);
    // One connection of the verification, and one of this count.
    expect((await connectionsOf(2)) - before).toBe(2);
  });
});

describe("an announced host name", () => {
  it("with several addresses passes if no address leads to a different node", async () => {
    await setAll({ "cluster-announce-hostname": "localhost", "cluster-preferred-endpoint-type": "hostname" });
    await known(",localhost", 3);
    expect(await found()).toBe("each of 3 announced endpoints to its node");
  });

  it("fails without an address, and where a node has none", async () => {
    await setAll({ "cluster-announce-hostname": "localhost", "cluster-preferred-endpoint-type": "hostname" });
    await known(",localhost", 3);
    await set(0, { "cluster-announce-hostname": "nowhere.invalid" });
    await eventually("it fails", async () =>
      ((await found()) ?? "").startsWith(
        `cluster-0: is announced at nowhere.invalid:${portOf(0)}, which has no address (`,
      ),
    );
    await set(0, { "cluster-announce-hostname": "" });
    await says("cluster-0: is announced without a host name, although cluster-preferred-endpoint-type is hostname");
  });

  it("does not matter while clients get addresses", async () => {
    await set(0, { "cluster-announce-hostname": "nowhere.invalid" });
    await known("nowhere.invalid", 1);
    expect(await failing(cluster)).toEqual([]);
  });
});

describe("a server with a port for TLS and one without", () => {
  it("is announced at both, and neither may belong to a different server", async () => {
    const directory = mkdtempSync(join(tmpdir(), "announced-test-"));
    const [port = 0, bus = 0] = await findFreePorts(2);
    const announced = { "cluster-announce-hostname": "localhost", "cluster-preferred-endpoint-type": "hostname" };
    const directives = { ...announced, "cluster-enabled": "yes", port: String(port), "cluster-port": String(bus) };
    const server = await startTlsServer(sandbox, join(directory, "own"), directives);
    const other = await startTlsServer(sandbox, join(directory, "other"));
    try {
      const { certificate: cacert } = server;
      const deploymentAt = (endpoint: Endpoint, access: NodeAccess): Deployment => ({
        ...{ name: "tls", mode: "cluster", shape: {}, directives: new Map(), access },
        nodes: [{ name: "tls-0", zone: "a", machine: "m", endpoint }],
        connect: () => connect("tls-0", endpoint, access),
      });
      const both = [
        deploymentAt({ host: "localhost", port: server.port }, { tls: { cacert, insecure: false } }),
        deploymentAt({ host: "127.0.0.1", port }, {}),
      ];
      const change = (...words: string[]): Promise<unknown> =>
        callNode(both[1] as Deployment, 0, "CONFIG", "SET", ...words);
      for (const each of both) expect(await found(each)).toBe("each of 2 announced endpoints to its node");
      await change("cluster-announce-tls-port", String(other.port));
      expect(await found(both[0])).toBe(
        `tls-0: is announced at localhost:${other.port} with TLS, where no node can be reached (self-signed certificate)`,
      );
      // Without TLS, verification cannot tell the servers behind the port apart.
      expect(await found(both[1])).toBe("each of 2 announced endpoints to one node (1 could not be tried from here)");
      await change("cluster-announce-tls-port", "0", "cluster-announce-port", "1");
      for (const each of both) expect(await found(each)).toMatch(/^tls-0: is announced at localhost:1, where no node/);
    } finally {
      server.stop();
      other.stop();
      // A server that stops may still write.
      rmSync(directory, { recursive: true, maxRetries: 30, retryDelay: 100 });
    }
  });
});

describe("where clients are elsewhere", () => {
  it("only what can be told from here is told", async () => {
    const elsewhere = { ...cluster, hasClientsElsewhere: true };
    expect(await found(elsewhere)).toBe("each of 3 announced endpoints to its node");
    await set(0, { "cluster-announce-port": "1" });
    await known("127.0.0.1:1@", 1);
    await eventually("it passes", async () => (await failing(elsewhere)).length === 0);
    expect(await found(elsewhere)).toBe("each of 3 announced endpoints to one node (1 could not be tried from here)");
    await set(1, { "cluster-announce-port": "1" });
    await eventually("it fails", async () =>
      ((await found(elsewhere)) ?? "").includes("cluster-0: is announced at 127.0.0.1:1, as is cluster-1"),
    );
    await set(1, { "cluster-announce-port": portOf(2) });
    await eventually("it fails", async () =>
      ((await found(elsewhere)) ?? "").includes(
        `cluster-1: is announced at 127.0.0.1:${portOf(2)}, which leads to cluster-2`,
      ),
    );
  });

  it("over a forwarded connection, only endpoints of several nodes can be told", async () => {
    const forwarded: Deployment = {
      ...{ ...cluster, hasClientsElsewhere: true },
      connect: ({ name, endpoint }, timeoutMs) =>
        connect(name, endpoint, cluster.access, timeoutMs, () => Promise.resolve(through(endpoint))),
    };
    expect(await found(forwarded)).toBe("each of 3 announced endpoints to one node (3 could not be tried from here)");
    await set(0, { "cluster-announce-port": portOf(1) });
    await eventually("it fails", async () =>
      ((await found(forwarded)) ?? "").includes(`is announced at 127.0.0.1:${portOf(1)}, as is cluster-1`),
    );
  });
});

/** A stream to a server that does not tell where it leads, as a forwarded port does not. */
function through({ host, port }: Endpoint): Duplex {
  const socket = connectSocket({ host, port });
  return Duplex.from({ readable: socket, writable: socket });
}

async function connectionsOf(index: number): Promise<number> {
  const connection: Connection = await cluster.connect(cluster.nodes[index] as Deployment["nodes"][number]);
  const info = await connection.info("stats");
  connection.disconnect();
  return Number(/total_connections_received:(\d+)/.exec(info)?.[1]);
}
