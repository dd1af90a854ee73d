/** Clients connect by the URL that components have as the output `url`, on real servers. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Cluster, Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { findFreePorts } from "../../../platforms/host/ports";
import { connectionUrl } from "../../../valkey/connection-url";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { useSandbox } from "../../support/valkey/hooks";
import { eventually, withNode } from "../../support/valkey/real";
import { startTlsServer } from "../../support/valkey/tls-server";

/** Every character that means something in a URL, in a shell or in an encoding. */
const PASSWORD = "a:b@c/d?e#f%g%41[h]i&j=k+l m\\n\"o'p$q!r*(s)~ü€";
/** In three shards, whichever answers first. */
const KEYS = ["{06S}", "{Qi}", "{3560}", "{1}", "{2}", "{3}"];
const SHAPE = { primaries: 3, replicasPerPrimary: 0 };

const sandbox = useSandbox();

async function valkeyCli(url: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(sandbox.host.programs.cli, ["-u", url, "--no-auth-warning", ...args]);
  return stdout.trim();
}

/** The first node's URL; the server's password becomes one that needs every escape. */
async function urlOf(deployment: Deployment): Promise<string> {
  await Promise.all(
    deployment.nodes.map((_node, index) =>
      withNode(deployment, index, (connection) => connection.config("SET", "requirepass", PASSWORD)),
    ),
  );
  const [first] = deployment.nodes;
  if (first === undefined) throw new Error("there is no node");
  return connectionUrl({ endpoint: formatEndpoint(first.endpoint), password: PASSWORD, tls: false });
}

async function writes(client: Redis | Cluster): Promise<(string | null)[]> {
  client.on("error", () => undefined);
  try {
    for (const key of KEYS) await client.set(key, `of ${key}`);
    return await Promise.all(KEYS.map((key) => client.get(key)));
  } finally {
    client.disconnect();
  }
}

const WRITTEN = KEYS.map((key) => `of ${key}`);

describe("the URL of a deployment", () => {
  it("is taken by ioredis and valkey-cli as it is", async () => {
    const url = await urlOf(await sandbox.replication("single", 0));
    expect(await writes(new Redis(url))).toEqual(WRITTEN);
    expect(await valkeyCli(url, "GET", "{1}")).toBe("of {1}");
    expect(await valkeyCli(url.replace("default:a", "default:b"), "GET", "{1}")).toMatch(/NOAUTH/);
  });

  it("leads to all nodes of a cluster", async () => {
    const deployment = await sandbox.formedCluster("shards", SHAPE.primaries, SHAPE.replicasPerPrimary);
    const url = await urlOf(deployment);
    // ioredis gives nodes that it discovers these options alone.
    await expect(writes(new Cluster([url]))).rejects.toThrow(/NOAUTH/);
    const redisOptions = { password: PASSWORD };
    expect(await writes(new Cluster([url], { redisOptions }))).toEqual(WRITTEN);
    for (const key of KEYS) expect(await valkeyCli(url, "-c", "GET", key)).toBe(`of ${key}`);
  });

  it("says that connections are encrypted", async () => {
    const [busPort = 0] = await findFreePorts(1);
    const directory = join(sandbox.host.run.path, "tls-url");
    const server = await startTlsServer(sandbox, directory, {
      requirepass: PASSWORD,
      "cluster-enabled": "yes",
      "tls-cluster": "yes",
      "cluster-port": String(busPort),
      "cluster-announce-hostname": "localhost",
      "cluster-preferred-endpoint-type": "hostname",
    });
    const url = connectionUrl({ endpoint: `localhost:${server.port}`, password: PASSWORD, tls: true });
    const tls = { ca: readFileSync(server.certificate) };
    expect(await valkeyCli(url, "--cacert", server.certificate, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")).toBe("OK");
    await eventually("it serves all slots", async () =>
      (await valkeyCli(url, "--cacert", server.certificate, "CLUSTER", "INFO")).includes("cluster_state:ok"),
    );
    expect(await writes(new Redis(url, { tls }))).toEqual(WRITTEN);
    expect(
      await writes(
        new Cluster([url], {
          redisOptions: { password: PASSWORD, tls },
          dnsLookup: (host, done) => {
            done(null, host);
          },
        }),
      ),
    ).toEqual(WRITTEN);
    server.stop();
  });
});
