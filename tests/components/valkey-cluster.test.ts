/** The whole deployments: in which order they come to be, and what they tell a program. */
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import { valueIn } from "../../components/kubernetes/deployment/deployment-password";
import type { ServerSettings } from "../../valkey/settings/settings";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { declareOne, evaluateProgram, onlyResource, outputValue } from "../support/pulumi/pulumi-mocks";

const zones = ["a", "b", "c"];
const shape = { primaries: 3, replicasPerPrimary: 1 };

describe("a whole cluster", () => {
  it("needs a shape and zones: password, drain, servers, roll-out, formation and verification follow in order", async () => {
    const resources = await evaluateProgram(() => new ValkeyCluster("orders", { shape, zones }));
    const one = (type: string): ReturnType<typeof onlyResource> => onlyResource(resources, `valkey:${type}`, "orders");
    const servers = one("kubernetes:ClusterServers");
    expect(servers.dependsOn).toEqual(["valkey:index:Volumes orders"]);
    expect(one("index:Volumes").dependsOn).toEqual(["valkey:index:ScaleIn orders", "valkey:index:Settings orders"]);
    expect(one("index:Rollout").dependsOn).toEqual(["valkey:kubernetes:ClusterServers orders"]);
    expect(one("index:ExternalAddresses").dependsOn).toEqual(["valkey:index:Rollout orders"]);
    expect(one("index:Formation").dependsOn).toEqual([
      "valkey:index:ExternalAddresses orders",
      "valkey:index:Maxmemory orders",
      "valkey:index:Rollout orders",
    ]);
    // A memory limit rises before maxmemory, and falls after it.
    expect(one("index:Maxmemory").dependsOn).toEqual(["valkey:index:Rollout orders"]);
    expect(one("index:Maxmemory").inputs).toMatchObject({ memoryLimit: "1Gi", directives: {} });
    expect(one("index:Settings").inputs).toMatchObject({ memoryLimit: "1Gi" });
    expect(one("index:PasswordRetirement").dependsOn).toEqual(["valkey:index:Rollout orders"]);
    expect(one("index:DeploymentVerification").dependsOn).toEqual([
      "valkey:index:Maxmemory orders",
      "valkey:index:PasswordRetirement orders",
      "valkey:index:Rollout orders",
    ]);
    // By its input, the verification waits for the formation.
    expect(one("index:DeploymentVerification").inputs).toMatchObject({ formationMs: 1500, password: "generated" });
    for (const type of [
      "Password",
      "Access",
      "ScaleIn",
      "Volumes",
      "Rollout",
      "Formation",
      "PasswordRetirement",
      "DeploymentVerification",
    ])
      expect(one(`index:${type}`).parent, type).toBe("valkey:index:ValkeyCluster orders");
  });

  it("takes any directive by its name, refuses what a stack file refuses, and says all that is wrong", async () => {
    const declare = (settings: ServerSettings): Promise<readonly DeclaredResource[]> =>
      evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, settings }));
    const { inputs } = onlyResource(
      await declare({ "tcp-backlog": 77 }),
      "valkey:index:DeploymentVerification",
      "orders",
    );
    expect(inputs["target"]).toMatchObject({ directives: { "tcp-backlog": "77" } });
    await expect(declare({ aclfile: "/x", "tcp-backlg": 1, "io-threads": 0, hz: "10\nport 1" })).rejects.toThrow(
      /settings\.io-threads is 0: [^]*settings\.hz[^]*settings\.aclfile: the deployment decides[^]*settings\.tcp-backlg: .*did you mean tcp-backlog\?/,
    );
    await expect(
      declare({ maxmemory: "256mb" } as unknown as ServerSettings).then(
        (all) => onlyResource(all, "valkey:index:DeploymentVerification", "orders").inputs["target"],
      ),
    ).resolves.toMatchObject({
      directives: { maxmemory: String(2 ** 28) },
    });
  });

  it("has the maxmemory that the memory limit carries, and refuses more", async () => {
    const declare = (args: object): Promise<readonly DeclaredResource[]> =>
      evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, ...args }));
    const directives = async (args: object): Promise<Record<string, string>> => {
      const { inputs } = onlyResource(await declare(args), "valkey:index:DeploymentVerification", "orders");
      return (inputs["target"] as { directives: Record<string, string> }).directives;
    };
    const maxmemory = Number((await directives({}))["maxmemory"]);
    expect(maxmemory).toBeGreaterThan(0.4 * 2 ** 30);
    const tooMuch = { settings: { maxmemory: maxmemory + 1 } };
    await expect(declare(tooMuch)).rejects.toThrow(
      /settings\.maxmemory: .*; expected at most .* of the memory limit of 1\.0 GiB/,
    );
    expect((await directives({ ...tooMuch, oversubscribed: true }))["maxmemory"]).toBe(String(maxmemory + 1));
  });

  it("writes the size of volumes as the API server does, so that another text of it is no other StatefulSet", async () => {
    const resources = await evaluateProgram(
      () => new ValkeyCluster("orders", { shape, zones, storage: { size: "2048Mi" } }),
    );
    expect(onlyResource(resources, "valkey:index:Volumes", "orders").inputs).toMatchObject({
      storage: { template: "data", ephemeral: false, size: "2Gi", onDestroy: "delete" },
    });
    expect(onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "orders").inputs).toMatchObject({
      spec: {
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { resources: { requests: { storage: "2Gi" } } } }],
      },
    });
  });

  it("asks cert-manager for a certificate of the Services and of all pods, and inspects it before servers have it", async () => {
    const tls = { issuer: { name: "internal", kind: "ClusterIssuer" } } as const;
    const resources = await evaluateProgram(
      () => new ValkeyCluster("orders", { shape, zones, namespace: "shop", tls }),
    );
    const { inputs } = onlyResource(resources, "kubernetes:cert-manager.io/v1:Certificate", "orders-certificate");
    expect(inputs).toMatchObject({
      metadata: { name: "orders", namespace: "shop" },
      spec: {
        secretName: "orders-tls",
        dnsNames: [
          "orders.shop.svc.cluster.local",
          "orders-read.shop.svc.cluster.local",
          "*.orders-headless.shop.svc.cluster.local",
          "*.orders-sentinel.shop.svc.cluster.local",
          "localhost",
        ],
        issuerRef: { name: "internal", kind: "ClusterIssuer", group: "cert-manager.io" },
      },
    });
    const check = onlyResource(resources, "valkey:index:TlsCheck", "orders");
    expect(check.dependsOn).toEqual(["kubernetes:cert-manager.io/v1:Certificate orders-certificate"]);
    expect(check.inputs["tls"]).toMatchObject({
      secretName: "orders-tls",
      hosts: [
        "orders.shop.svc.cluster.local",
        ...[0, 1, 2, 3, 4, 5].map((index) => `orders-${index}.orders-headless.shop.svc.cluster.local`),
      ],
    });
    expect(onlyResource(resources, "valkey:index:Settings", "orders").dependsOn).toContain(
      "valkey:index:TlsCheck orders",
    );
    expect(JSON.stringify(onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "orders").inputs)).toContain(
      '"secretName":"orders-tls"',
    );
    await expect(evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, tls: {} }))).rejects.toThrow(
      "tls: expected either secretName or issuer",
    );
  });

  it("keeps the password secret, and takes one that is given", async () => {
    const { component: cluster, resources } = await declareOne(
      () => new ValkeyCluster("orders", { shape, zones, password: "pass/word", namespace: "shop" }),
    );
    expect(resources.some(({ type }) => type === "valkey:index:Password")).toBe(false);
    for (const type of ["Access", "ScaleIn", "Formation", "PasswordRetirement", "DeploymentVerification"])
      expect(onlyResource(resources, `valkey:index:${type}`, "orders").secrets, type).toContain("password");
    expect(await outputValue(cluster.url)).toBe("redis://default:pass%2Fword@orders.shop.svc.cluster.local:6379");
    expect(await pulumi.isSecret(cluster.url)).toBe(true);
    expect(await pulumi.isSecret(cluster.endpoint)).toBe(false);
    expect(await outputValue(cluster.nodes)).toEqual([{ name: "orders-0", role: "primary" }]);
    expect(await outputValue(cluster.caCertificate)).toBeUndefined();
  });

  it("says what it survives", async () => {
    const { component } = await declareOne(() => new ValkeyCluster("orders", { shape, zones, settings: { save: "" } }));
    const survives = await outputValue(component.survives);
    expect(survives.map(({ event, loss }) => [event, loss])).toEqual([
      ["process", "unreplicated"],
      ["machine", "unreplicated"],
      ["zone", "unreplicated"],
      ["all-pods", "everything"],
      ["volume", "unreplicated"],
    ]);
  });

  it("reads the password from a Secret that exists, and keeps it as a secret only", async () => {
    const passwordSecret = { name: "login", key: "ca.crt" };
    const { component, resources } = await declareOne(
      () => new ValkeyCluster("orders", { shape, zones, namespace: "shop", passwordSecret }),
    );
    expect(resources.filter(({ type }) => type === "valkey:index:Password")).toEqual([]);
    const { options } = onlyResource(resources, "kubernetes:core/v1:Secret", "orders-password-source");
    const { id } = options as pulumi.CustomResourceOptions;
    expect(await outputValue(pulumi.output(id))).toBe("shop/login");
    expect(onlyResource(resources, "valkey:index:Access", "orders").inputs["password"]).toBe("authority");
    expect(await pulumi.isSecret(component.password)).toBe(true);
  });

  it("names every source of the password beside a Secret, and a key that the Secret does not have", async () => {
    const declare = (args: object): Promise<unknown> =>
      evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, ...args }));
    const passwordSecret = { name: "login", key: "ca.crt" };
    await expect(declare({ passwordSecret, password: "0123456789abcdef", passwordVersion: 1 })).rejects.toThrow(
      /passwordSecret: cannot be set together with password\n.*passwordSecret: cannot be set together with passwordVersion/,
    );
    const data = { "ca.crt": Buffer.from("authority").toString("base64") };
    expect(valueIn("orders", data, "login", "ca.crt")).toBe("authority");
    expect(() => valueIn("orders", data, "login", "none")).toThrow(
      /passwordSecret: the Secret login has no key none; it has ca\.crt/,
    );
  });

  it("tells clients of the authority with TLS", async () => {
    const tls = { secretName: "orders-tls" };
    const { component: cluster } = await declareOne(() => new ValkeyCluster("orders", { shape, zones, tls }));
    expect(await outputValue(cluster.caCertificate)).toBe("authority");
    expect(await outputValue(cluster.url)).toMatch(/^rediss:/);
  });

  it("is refused before anything is made when its zones cannot separate replicas from their primaries", async () => {
    const program = evaluateProgram(() => new ValkeyCluster("orders", { shape, zones: ["a"] }));
    await expect(program).rejects.toThrow(/zone/);
  });
});

describe("a whole deployment in replication mode", () => {
  it("forms without help, and is verified", async () => {
    const { component: sessions, resources } = await declareOne(
      () => new ValkeyReplication("sessions", { replicas: 2, zones }),
    );
    expect(resources.some(({ type }) => type === "valkey:index:Formation")).toBe(false);
    expect(onlyResource(resources, "valkey:index:DeploymentVerification", "sessions").dependsOn).toEqual([
      "valkey:index:Maxmemory sessions",
      "valkey:index:PasswordRetirement sessions",
      "valkey:index:Rollout sessions",
    ]);
    expect(await outputValue(sessions.readEndpoint)).toBe("sessions-read.default.svc.cluster.local:6379");
    expect(await outputValue(sessions.formationMs)).toBeNull();
  });
});
