/** A real server with TLS behind an API server of this test's own: whose certificate the project's own connections accept. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient, openPodDeployment } from "../../../platforms/deployment-reference";
import { type Connection, connect } from "../../../valkey/connection";
import { type TlsFiles, issueCertificate } from "../../support/kubernetes/certificates";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { useSandbox } from "../../support/valkey/hooks";
import { type TlsServer, startTlsServer } from "../../support/valkey/tls-server";

const DOMAIN = "example.org";
const SHAPE = { primaries: 1, replicasPerPrimary: 0 };
const HOST = `shop-0.shop-headless.valkey.svc.${DOMAIN}`;

const sandbox = useSandbox();
let api: FakeApiServer;
let server: TlsServer;
let files: TlsFiles;
let target: KubernetesReference;

function write(name: string, certificate: TlsFiles): Record<string, string> {
  const path = (key: keyof TlsFiles): string => {
    const file = join(sandbox.host.run.path, `${name}-${key}`);
    writeFileSync(file, Buffer.from(certificate[key], "base64"));
    return file;
  };
  return { "tls-cert-file": path("tls.crt"), "tls-key-file": path("tls.key"), "tls-ca-cert-file": path("ca.crt") };
}

function publish(secretName: string, data: Readonly<Record<string, string>>): void {
  api.objects.set(`/api/v1/namespaces/valkey/secrets/${secretName}`, { metadata: { name: secretName }, data });
}

async function ping(changes: Partial<KubernetesReference>, timeoutMs = 300): Promise<string> {
  const deployment = await openDeployment({ ...target, ...changes }, undefined, { timeoutMs });
  const [node] = deployment.nodes;
  if (node === undefined) throw new Error("no node");
  const connection = await deployment.connect(node);
  try {
    return await connection.ping();
  } finally {
    connection.disconnect();
  }
}

async function configure(directives: Readonly<Record<string, string>>): Promise<void> {
  const here = { host: "127.0.0.1", port: server.port };
  const connection: Connection = await connect("tls", here, { tls: { insecure: true } });
  try {
    await connection.call("CONFIG", "SET", ...Object.entries(directives).flat());
  } finally {
    connection.disconnect();
  }
}

beforeAll(async () => {
  files = issueCertificate([HOST]);
  server = await startTlsServer(sandbox, join(sandbox.host.run.path, "tls"), write("first", files));
  api = await FakeApiServer.start();
  const node = { name: "shop-0", endpoint: { host: "127.0.0.1", port: server.port }, zone: "a", machine: "shop-0" };
  const deployment = {
    ...{
      name: "shop",
      mode: "replication" as const,
      shape: SHAPE,
      nodes: [node],
      directives: new Map<string, string>(),
    },
    ...{ access: {}, connect: () => Promise.reject(new Error("by port-forward only")) },
  };
  target = { ...api.serve(deployment, SHAPE), tls: { secretName: "shop-tls" }, clusterDomain: DOMAIN };
  const pod = "/api/v1/namespaces/valkey/pods/shop-0";
  const object = api.objects.get(pod) as { readonly spec: object };
  api.objects.set(pod, { ...object, spec: { ...object.spec, hostname: "shop-0", subdomain: "shop-headless" } });
  publish("shop-tls", files);
}, 60_000);
afterAll(() => {
  api.stop();
  server.stop();
});

describe("connections of the project's own", () => {
  it("accept a certificate of the Secret's authority that names the pod", async () => {
    expect(await ping({})).toBe("PONG");
    // As faults do, with a time limit of their own.
    const pods = await openPodDeployment(await openKubernetesClient(target), target, undefined);
    const [node] = pods.nodes;
    if (node === undefined) throw new Error("no node");
    const connection = await pods.connect(node, 2000);
    expect(await connection.ping()).toBe("PONG");
    connection.disconnect();
  });

  it("refuse a certificate of another authority", async () => {
    publish("other-tls", issueCertificate([HOST]));
    await expect(ping({ tls: { secretName: "other-tls" } })).rejects.toThrow(
      /^shop-0 \(127\.0\.0\.1:\d+\) cannot be reached: self-signed certificate in certificate chain/,
    );
  });

  it("refuse a certificate that names another host", async () => {
    await expect(ping({ clusterDomain: undefined })).rejects.toThrow(
      /Host: shop-0\.shop-headless\.valkey\.svc\.cluster\.local\. is not in the cert's altnames/,
    );
  });

  it("have nothing to hold a certificate against where the Secret is gone, and go on", async () => {
    expect(await ping({ tls: { secretName: "gone" } })).toBe("PONG");
  });

  it("wait for a server that has yet to load the certificate of another authority", async () => {
    const renewed = issueCertificate([HOST]);
    publish("renewed-tls", renewed);
    const directives = write("renewed", renewed);
    const [answer] = await Promise.all([
      ping({ tls: { secretName: "renewed-tls" } }, 20_000),
      sleep(500).then(() => configure(directives)),
    ]);
    expect(answer).toBe("PONG");
  });
});
