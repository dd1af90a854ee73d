/** Outputs of whole deployments for a program, and values that they derive. */
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { valueIn } from "../../components/kubernetes/deployment/deployment-password";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import type { ServerSettings } from "../../valkey/settings/settings";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { declareOne, evaluateProgram, onlyResource, outputValue } from "../support/pulumi/pulumi-mocks";

const zones = ["a", "b", "c"];
const shape = { primaries: 3, replicasPerPrimary: 1 };

describe("a whole deployment", () => {
  it("takes any directive by its name, and sizes as text", async () => {
    const declare = (settings: ServerSettings): Promise<readonly DeclaredResource[]> =>
      evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, settings }));
    const { inputs } = onlyResource(
      await declare({ "tcp-backlog": 77 }),
      "valkey:index:DeploymentVerification",
      "orders",
    );
    expect(inputs["target"]).toMatchObject({ directives: { "tcp-backlog": "77" } });
    await expect(
      declare({ maxmemory: "256mb" } as unknown as ServerSettings).then(
        (all) => onlyResource(all, "valkey:index:DeploymentVerification", "orders").inputs["target"],
      ),
    ).resolves.toMatchObject({
      directives: { maxmemory: String(2 ** 28) },
    });
  });

  it("has the maxmemory that the memory limit carries", async () => {
    const declare = (args: object): Promise<readonly DeclaredResource[]> =>
      evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, ...args }));
    const directives = async (args: object): Promise<Record<string, string>> => {
      const { inputs } = onlyResource(await declare(args), "valkey:index:DeploymentVerification", "orders");
      return (inputs["target"] as { directives: Record<string, string> }).directives;
    };
    const maxmemory = Number((await directives({}))["maxmemory"]);
    expect(maxmemory).toBeGreaterThan(0.4 * 2 ** 30);
    const tooMuch = { settings: { maxmemory: maxmemory + 1 } };
    expect((await directives({ ...tooMuch, oversubscribed: true }))["maxmemory"]).toBe(String(maxmemory + 1));
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

  it("tells a program its addresses, its nodes and, as secrets, its password and its URLs", async () => {
    const external = { type: "LoadBalancer" } as const;
    const { component: cluster, resources } = await declareOne(
      () => new ValkeyCluster("orders", { shape, zones, password: "pass/word", namespace: "shop", external }),
    );
    expect(resources.some(({ type }) => type === "valkey:index:Password")).toBe(false);
    expect(await outputValue(cluster.url)).toBe("redis://default:pass%2Fword@orders.shop.svc.cluster.local:6379");
    expect(await outputValue(cluster.externalUrl)).toBe("redis://default:pass%2Fword@203.0.113.1:6379");
    for (const secret of [cluster.url, cluster.externalUrl, cluster.password])
      expect(await pulumi.isSecret(secret)).toBe(true);
    expect(await pulumi.isSecret(cluster.endpoint)).toBe(false);
    expect(await outputValue(cluster.externalEndpoints)).toEqual(["203.0.113.1:6379", "203.0.113.2:6379"]);
    expect(await outputValue(cluster.nodes)).toEqual([{ name: "orders-0", role: "primary" }]);
    expect(await outputValue(cluster.formationMs)).toBe(1500);
    expect(await outputValue(cluster.caCertificate)).toBeUndefined();
  });

  it("tells clients of the authority with TLS", async () => {
    const tls = { secretName: "orders-tls" };
    const { component: cluster } = await declareOne(() => new ValkeyCluster("orders", { shape, zones, tls }));
    expect(await outputValue(cluster.caCertificate)).toBe("authority");
    expect(await outputValue(cluster.url)).toMatch(/^rediss:/);
  });

  it("names the key that the Secret of a password does not have", () => {
    const data = { "ca.crt": Buffer.from("authority").toString("base64") };
    expect(valueIn("orders", data, "login", "ca.crt")).toBe("authority");
    expect(() => valueIn("orders", data, "login", "none")).toThrow(
      /passwordSecret: the Secret login has no key none; it has ca\.crt/,
    );
  });

  it("in replication mode tells where to write and to read, inside and outside, and is not formed", async () => {
    const external = { type: "NodePort" } as const;
    const { component: sessions } = await declareOne(
      () => new ValkeyReplication("sessions", { replicas: 2, zones, external }),
    );
    expect(await outputValue(sessions.endpoint)).toBe("sessions.default.svc.cluster.local:6379");
    expect(await outputValue(sessions.readEndpoint)).toBe("sessions-read.default.svc.cluster.local:6379");
    expect(await outputValue(sessions.externalEndpoint)).toBe("203.0.113.1:6379");
    expect(await outputValue(sessions.externalReadEndpoint)).toBe("203.0.113.2:6379");
    expect(await outputValue(sessions.formationMs)).toBeNull();
    const { component: inside } = await declareOne(() => new ValkeyReplication("sessions", { replicas: 2, zones }));
    expect(await outputValue(inside.externalEndpoint)).toBeUndefined();
    expect(await outputValue(inside.externalUrl)).toBeUndefined();
  });
});
