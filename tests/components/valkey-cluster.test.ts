/** Outputs of whole deployments for a program, and values that they derive. */
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { valueIn } from "../../components/kubernetes/deployment/deployment-password";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import type { ServerSettings } from "../../valkey/settings/settings";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { declareOne, evaluateProgram, onlyResource, outputValue } from "../support/pulumi/pulumi-mocks";
import { expectReviewed } from "../support/reviewed";

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
    ).resolves.toMatchObject({ directives: { maxmemory: String(2 ** 28) } });
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

  it("tells a program what it is, where clients reach it, and what it survives", async () => {
    const external = { type: "LoadBalancer" } as const;
    const password = "pass/word";
    const components = {
      "a cluster with clients outside": () =>
        new ValkeyCluster("orders", { shape, zones, password, namespace: "shop", external }),
      "a cluster with TLS, without persistence": () =>
        new ValkeyCluster("orders", { shape, zones, tls: { secretName: "orders-tls" }, settings: { save: "" } }),
      replication: () => new ValkeyReplication("sessions", { replicas: 2, zones }),
      "replication with clients outside": () =>
        new ValkeyReplication("sessions", { replicas: 2, zones, external: { type: "NodePort" } }),
    };
    const found: [string, object][] = [];
    for (const [what, make] of Object.entries<() => object>(components)) {
      const { component } = await declareOne(make);
      const outputs = Object.entries(component).filter(
        (each): each is [string, pulumi.Output<unknown>] => pulumi.Output.isInstance(each[1]) && each[0] !== "urn",
      );
      const values = outputs.map(async ([name, output]) => {
        const value = (await outputValue(output)) ?? "none";
        return [(await pulumi.isSecret(output)) ? `${name}, a secret` : name, value] as const;
      });
      found.push([what, Object.fromEntries(await Promise.all(values))]);
    }
    await expectReviewed("components/outputs", "Outputs of deployments.", found);
  });

  it("names the key that the Secret of a password does not have", () => {
    const data = { "ca.crt": Buffer.from("authority").toString("base64") };
    expect(valueIn("orders", data, "login", "ca.crt")).toBe("authority");
    expect(() => valueIn("orders", data, "login", "none")).toThrow(
      /passwordSecret: the Secret login has no key none; it has ca\.crt/,
    );
  });
});
