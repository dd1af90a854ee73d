/** Clients outside the Kubernetes cluster: which Services they have, and what nodes are told. */
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { ValkeyCluster } from "../../components/valkey-cluster";
import { ValkeyReplication } from "../../components/valkey-replication";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import type { DeclaredResource } from "../support/pulumi/pulumi-mocks";
import { declareOne, evaluateProgram, onlyResource, outputValue } from "../support/pulumi/pulumi-mocks";

interface PolicyInputs {
  readonly spec: { readonly ingress: unknown[] };
}

const zones = ["a", "b", "c"];
const shape = { primaries: 3, replicasPerPrimary: 1 };
const ANYWHERE = { ports: [{ protocol: "TCP", port: 6379 }] };

const ingressOf = (resources: readonly DeclaredResource[], name: string): unknown[] =>
  (onlyResource(resources, "kubernetes:networking.k8s.io/v1:NetworkPolicy", name).inputs as unknown as PolicyInputs)
    .spec.ingress;

describe("a cluster that is reached from outside", () => {
  it("has a Service for each node outside, whose address the node is told before the cluster forms", async () => {
    const external = { type: "LoadBalancer", annotations: { internal: "true" }, sourceRanges: ["10.0.0.0/8"] } as const;
    const { component: cluster, resources } = await declareOne(
      () => new ValkeyCluster("orders", { shape, zones, external, password: "pass/word" }),
    );
    const services = resources.filter(({ name }) => /^orders-\d-external$/.test(name));
    expect(services.map(({ inputs }) => inputs)).toMatchObject(
      Array.from({ length: 6 }, (_, index) => ({
        metadata: { name: `orders-${index}-external`, annotations: { internal: "true" } },
        spec: {
          type: "LoadBalancer",
          publishNotReadyAddresses: true,
          selector: { "statefulset.kubernetes.io/pod-name": `orders-${index}` },
          ports: [{ port: 6379, targetPort: 6379 }],
          loadBalancerSourceRanges: ["10.0.0.0/8"],
        },
      })),
    );
    const addresses = onlyResource(resources, "valkey:index:ExternalAddresses", "orders");
    expect(addresses.inputs["external"]).toEqual({
      type: "LoadBalancer",
      services: Array.from({ length: 6 }, (_, index) => `orders-${index}-external`),
    });
    expect(addresses.secrets).toContain("password");
    // Pods read it when they start; without it they start as well.
    const { inputs: announced } = onlyResource(resources, "kubernetes:core/v1:ConfigMapPatch", "orders-announced");
    expect(announced["data"]).toEqual({ "orders-0.conf": "cluster-announce-client-ipv4 203.0.113.1\n" });
    expect(await outputValue(cluster.externalEndpoints)).toEqual(["203.0.113.1:6379", "203.0.113.2:6379"]);
    expect(await outputValue(cluster.externalUrl)).toBe("redis://default:pass%2Fword@203.0.113.1:6379");
    expect(await pulumi.isSecret(cluster.externalUrl)).toBe(true);
  });

  it("restarts nothing for clients outside: pods and their Services are the same without", async () => {
    const without = await evaluateProgram(() => new ValkeyCluster("orders", { shape, zones }));
    const reached = await evaluateProgram(
      () => new ValkeyCluster("orders", { shape, zones, external: { type: "NodePort" } }),
    );
    const set = (resources: readonly DeclaredResource[]): unknown =>
      onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "orders").inputs;
    expect(set(reached)).toEqual(set(without));
    expect(ingressOf(without, "orders")).not.toContainEqual(ANYWHERE);
    expect(ingressOf(reached, "orders")).toContainEqual(ANYWHERE);
    expect(without.some(({ name }) => name.includes("external"))).toBe(false);
  });

  it("refuses reach from outside that cannot be had, all problems at once", async () => {
    const external = { type: "NodePort", sourceRanges: ["10.0.0.0/8", "fd00::/8", "10.0.0", "10.0.0.0/33"] } as const;
    await expect(evaluateProgram(() => new ValkeyCluster("orders", { shape, zones, external }))).rejects.toThrow(
      [
        "orders:",
        '  - external.sourceRanges: "10.0.0" is not a block of addresses; expected one such as 203.0.113.0/24',
        '  - external.sourceRanges: "10.0.0.0/33" is not a block of addresses; expected one such as 203.0.113.0/24',
        "  - external.sourceRanges: only load balancers apply source ranges; for node ports set the firewall of the machines",
      ].join("\n"),
    );
    const long = "a".repeat(52);
    await expect(
      evaluateProgram(() => new ValkeyCluster(long, { shape, zones, external: { type: "NodePort" } })),
    ).resolves.toBeDefined();
    await expect(
      evaluateProgram(() => new ValkeyReplication(long, { replicas: 1, zones, external: { type: "NodePort" } })),
    ).rejects.toThrow(`a Service would be named ${long}-read-external; its name may have at most 63 characters`);
  });
});

describe("replication that is reached from outside", () => {
  const program = (
    sentinel: boolean,
  ): Promise<{ component: ValkeyReplication; resources: readonly DeclaredResource[] }> =>
    declareOne(
      () =>
        new ValkeyReplication("sessions", {
          replicas: 2,
          zones,
          external: { type: "NodePort" },
          sentinel,
        }),
    );
  const selectorOf = (resources: readonly DeclaredResource[], name: string): unknown =>
    (onlyResource(resources, "kubernetes:core/v1:Service", name).inputs["spec"] as { selector: unknown }).selector;
  const servers = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "sessions" };

  it("has a Service for pod 0, which is the primary, and one for all nodes", async () => {
    const { component, resources } = await program(false);
    expect(selectorOf(resources, "sessions-external")).toEqual({
      ...servers,
      "statefulset.kubernetes.io/pod-name": "sessions-0",
    });
    expect(selectorOf(resources, "sessions-read-external")).toEqual(servers);
    expect(onlyResource(resources, "valkey:index:ExternalAddresses", "sessions").inputs["external"]).toEqual({
      type: "NodePort",
      services: ["sessions-external", "sessions-read-external"],
    });
    expect(await outputValue(component.externalEndpoint)).toBe("203.0.113.1:6379");
    expect(await outputValue(component.externalReadEndpoint)).toBe("203.0.113.2:6379");
    expect(ingressOf(resources, "sessions")).toContainEqual(ANYWHERE);
  });

  it("is led to the primary with the other Service, also where it comes later, and verified with it", async () => {
    const { component } = await program(false);
    const reached = await outputValue<KubernetesReference>(component.reference);
    expect(reached.lead?.services).toEqual(["sessions", "sessions-external"]);
    expect(reached.ways).toContainEqual({ service: "sessions-external", to: "primary" });
    const inside = await declareOne(() => new ValkeyReplication("sessions", { replicas: 2, zones, sentinel: false }));
    const alone = await outputValue<KubernetesReference>(inside.component.reference);
    // Another reference makes the roll-out lead clients again.
    expect(alone.lead?.services).toEqual(["sessions"]);
  });

  it("has one for the proxies, which know the primary, where Sentinels choose it", async () => {
    const { resources } = await program(true);
    expect(selectorOf(resources, "sessions-external")).toEqual({
      "app.kubernetes.io/name": "valkey-proxy",
      "app.kubernetes.io/instance": "sessions",
    });
    expect(ingressOf(resources, "sessions-proxy")).toContainEqual(ANYWHERE);
    expect(ingressOf(resources, "sessions-sentinel")).toHaveLength(1);
  });

  it("needs nothing where nobody outside connects", async () => {
    const { component, resources } = await declareOne(() => new ValkeyReplication("sessions", { replicas: 2, zones }));
    expect(resources.some(({ type }) => type === "valkey:index:ExternalAddresses")).toBe(false);
    expect(ingressOf(resources, "sessions")).not.toContainEqual(ANYWHERE);
    expect(await outputValue(component.externalEndpoint)).toBeUndefined();
    expect(await outputValue(component.externalUrl)).toBeUndefined();
  });
});
