/** Connections to an API server, as a real HTTPS server counts them. */
import { once } from "node:events";
import { type Server, createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubernetesClient } from "../../../../platforms/kubernetes/api/client";
import { issueCertificate } from "../../../support/kubernetes/certificates";

const decoded = (base64: string): Buffer => Buffer.from(base64, "base64");

describe("requests to an API server", { timeout: 60_000 }, () => {
  let server: Server;
  let handshakes = 0;
  let credentials: (string | undefined)[] = [];
  beforeAll(async () => {
    const { "tls.crt": cert, "tls.key": key } = issueCertificate(["localhost"]);
    server = createServer({ cert: decoded(cert), key: decoded(key) }, (request, response) => {
      credentials.push(request.headers.authorization);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(request.url === "/version" ? { gitVersion: "v1.35.0" } : { items: [] }));
    });
    server.on("secureConnection", () => handshakes++);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = (cluster: Record<string, unknown>): Promise<KubernetesClient> => {
    handshakes = 0;
    credentials = [];
    const { port } = server.address() as AddressInfo;
    return KubernetesClient.open({
      kubeconfig: JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
        clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}`, ...cluster } }],
        users: [{ name: "u", user: { token: "a-token" } }],
        contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
      }),
    });
  };
  const list = ({ core }: KubernetesClient): Promise<unknown> => core.listNamespacedPod({ namespace: "shop" });

  it("share one connection, and each has the credentials", async () => {
    const client = await open({ "insecure-skip-tls-verify": true });
    await list(client);
    await list(client);
    expect(handshakes).toBe(1);
    expect(credentials).toEqual(Array.from({ length: 3 }, () => "Bearer a-token"));
  });

  it("open a new connection if nobody has used the last one for five seconds", async () => {
    const client = await open({ "insecure-skip-tls-verify": true });
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => {
          if (error === null) resolve(count);
          else reject(error);
        });
      });
    await expect.poll(connections, { timeout: 15_000, interval: 200 }).toBe(0);
    await list(client);
    expect(handshakes).toBe(2);
  });

  it("do not share a connection that was made with different certificates", async () => {
    const client = await open({ "insecure-skip-tls-verify": true });
    const cluster = client.config.getCurrentCluster() as { skipTLSVerify: boolean };
    cluster.skipTLSVerify = false;
    // Nobody that this process trusts has signed the certificate.
    await expect(list(client)).rejects.toThrow(/unable to verify the first certificate/);
  });
});
