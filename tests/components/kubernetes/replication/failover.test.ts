import { describe, expect, it } from "vitest";
import { proxyConfig } from "../../../../components/kubernetes/replication/proxy-config";
import { ReplicationServers } from "../../../../components/kubernetes/servers/replication-servers";
import type { DeclaredResource } from "../../../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../../../support/pulumi/pulumi-mocks";
import { plainServers } from "../../../support/kubernetes/server-args";

const SENTINEL = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
const replication = (): Promise<readonly DeclaredResource[]> =>
  evaluateProgram(() => {
    new ReplicationServers("shop", { ...plainServers, replicas: 2, sentinel: SENTINEL });
  });

/** Variables of every container whose scripts ask the Sentinels. */
const SCRIPT_VARIABLES = {
  VALKEY_PASSWORD_FILE: "/valkey/secret/password",
  DEPLOYMENT: "shop",
  SERVERS: ".shop-headless.$(POD_NAMESPACE).svc.cluster.local",
  SENTINELS: ".shop-sentinel.$(POD_NAMESPACE).svc.cluster.local",
  COUNT: "3",
  QUORUM: "2",
  DOWN_AFTER: "5000",
  FAILOVER_TIMEOUT: "10000",
};

/** The parts that tests look into. */
interface Workload {
  spec: {
    replicas: number;
    selector: { matchLabels: unknown };
    template: {
      metadata: { labels: unknown };
      spec: {
        containers: {
          command?: string[];
          args?: string[];
          env: { name: string; value?: string; valueFrom?: unknown }[];
          securityContext: unknown;
          resources: unknown;
          lifecycle?: unknown;
          volumeMounts: unknown;
        }[];
        initContainers?: unknown;
        volumes: unknown[];
        topologySpreadConstraints: unknown;
        securityContext: unknown;
      };
    };
  };
}

const variablesOf = ({ env }: { env: { name: string; value?: string }[] }): Record<string, string | undefined> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value]));

describe("Sentinels of replication", () => {
  it("start when their files and account are there, as the proxies and the servers", async () => {
    const resources = await replication();
    const servers = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "shop");
    const sentinels = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "shop-sentinel");
    const proxies = onlyResource(resources, "kubernetes:apps/v1:Deployment", "shop-proxy");
    expect(servers.dependsOn).toContain("kubernetes:core/v1:ConfigMapPatch shop-scripts");
    expect(sentinels.dependsOn).toEqual(servers.dependsOn);
    expect(proxies.dependsOn).toEqual(expect.arrayContaining([...servers.dependsOn]));
  });

  it("may be reached by block instead of by label, each block once in a rule", async () => {
    const block = { ipBlock: { cidr: "10.0.0.0/16" } };
    const access = { nodes: [block], clients: [block] };
    const resources = await evaluateProgram(() => {
      new ReplicationServers("shop", { ...plainServers, replicas: 2, sentinel: SENTINEL, access });
    });
    const policies = resources.filter(({ type }) => type.endsWith(":NetworkPolicy"));
    expect(policies.length).toBe(3);
    for (const { inputs } of policies) {
      const { ingress, egress } = inputs["spec"] as Record<
        "ingress" | "egress",
        readonly { readonly from?: readonly object[]; readonly to?: readonly object[] }[]
      >;
      const rules = [...ingress.map(({ from }) => from), ...egress.map(({ to }) => to)];
      // DNS servers may be anywhere.
      expect(rules.filter((peers) => peers !== undefined)).toEqual(rules.slice(0, -1).map(() => [block]));
    }
  });

  it("are a StatefulSet over the zones, with all that it takes", async () => {
    const resources = await replication();
    expect(
      resources
        .filter(({ name }) => name === "shop-sentinel")
        .map(({ type }) => type)
        .sort(),
    ).toEqual([
      "kubernetes:apps/v1:StatefulSet",
      "kubernetes:core/v1:Service",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy",
      "kubernetes:policy/v1:PodDisruptionBudget",
    ]);
    const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "shop-sentinel")
      .inputs as unknown as Workload;
    expect(spec).toMatchObject({ replicas: 3, podManagementPolicy: "Parallel", serviceName: "shop-sentinel" });
    const labels = { "app.kubernetes.io/name": "valkey-sentinel", "app.kubernetes.io/instance": "shop" };
    expect(spec.selector.matchLabels).toEqual(labels);
    expect(spec.template.spec.topologySpreadConstraints).toMatchObject([
      {
        topologyKey: "topology.kubernetes.io/zone",
        whenUnsatisfiable: "DoNotSchedule",
        minDomains: 3,
        labelSelector: { matchLabels: labels },
      },
    ]);
    const [container] = spec.template.spec.containers;
    expect(container).toMatchObject({
      command: ["sh", "/valkey/scripts/sentinel.sh"],
      securityContext: { readOnlyRootFilesystem: true, runAsNonRoot: true },
      // Without a memory it asks the servers, whose number is in the configuration.
      volumeMounts: [
        { name: "data", mountPath: "/data" },
        { name: "primary", mountPath: "/valkey/primary" },
        { name: "config", mountPath: "/valkey/config" },
        { name: "scripts", mountPath: "/valkey/scripts" },
        { name: "secret", mountPath: "/valkey/secret" },
      ],
    });
    expect(spec.template.spec.volumes).toMatchObject([
      { name: "data", emptyDir: {} },
      { name: "primary", configMap: { name: "shop-primary" } },
      { name: "config", configMap: { name: "shop-config" } },
      { name: "scripts", configMap: { name: "shop-scripts" } },
      { name: "secret" },
    ]);
    expect(container && variablesOf(container)).toMatchObject(SCRIPT_VARIABLES);
  });

  it("are asked by every server before it starts and before it stops", async () => {
    const { spec } = onlyResource(await replication(), "kubernetes:apps/v1:StatefulSet", "shop")
      .inputs as unknown as Workload;
    expect(spec.template.spec.initContainers).toBeUndefined();
    const [container] = spec.template.spec.containers;
    expect(container?.command?.slice(0, 2)).toEqual(["sh", "/valkey/scripts/start-replication.sh"]);
    expect(container?.lifecycle).toEqual({
      preStop: { exec: { command: ["sh", "/valkey/scripts/hand-over-replication.sh", "30"] } },
    });
    expect(container && variablesOf(container)).toMatchObject(SCRIPT_VARIABLES);
  });

  it("have proxies behind the Service that leads to the primary, which no other Service selects", async () => {
    const resources = await replication();
    const { spec } = onlyResource(resources, "kubernetes:apps/v1:Deployment", "shop-proxy")
      .inputs as unknown as Workload;
    expect(spec).toMatchObject({
      replicas: 2,
      // No third proxy during an update: it would need a third machine.
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      selector: { matchLabels: { "app.kubernetes.io/name": "valkey-proxy", "app.kubernetes.io/instance": "shop" } },
    });
    const [container] = spec.template.spec.containers;
    const lifecycle = { preStop: { exec: { command: ["sleep", "5"] } } };
    expect(container).toMatchObject({ image: "docker.io/library/haproxy:3.2.26", lifecycle });
    expect(JSON.stringify(container?.args)).not.toContain("secret");
    expect(container?.env).toBeUndefined();
    expect(onlyResource(resources, "kubernetes:core/v1:Service", "shop").inputs["spec"]).toMatchObject({
      selector: { "app.kubernetes.io/name": "valkey-proxy" },
      ports: [{ port: 6379 }],
    });
  });

  it("have proxies that read the password from a file: another password changes nothing of their pods", async () => {
    const specFor = async (password: string): Promise<Workload["spec"]> => {
      const resources = await evaluateProgram(() => {
        new ReplicationServers("shop", { ...plainServers, password, replicas: 2, sentinel: SENTINEL });
      });
      return (onlyResource(resources, "kubernetes:apps/v1:Deployment", "shop-proxy").inputs as unknown as Workload)
        .spec;
    };
    const spec = await specFor("a-password-that-is-chosen");
    expect(await specFor("a-password-that-is-new")).toEqual(spec);
    expect(spec.template.spec.volumes).toContainEqual({
      name: "secret",
      secret: { secretName: "shop-password", items: [{ key: "password", path: "password" }], defaultMode: 0o440 },
    });
  });

  it("may talk to the servers, and the servers to them", async () => {
    const { spec } = onlyResource(await replication(), "kubernetes:networking.k8s.io/v1:NetworkPolicy", "shop")
      .inputs as { spec: { ingress: { from: unknown[] }[]; egress: unknown[] } };
    expect(JSON.stringify(spec.ingress[0]?.from)).toContain("valkey-sentinel");
    expect(JSON.stringify(spec.ingress[0]?.from)).toContain("valkey-proxy");
    expect(JSON.stringify(spec.egress)).toContain("26379");
  });

  it("are not there unless they are asked for", async () => {
    const without = await evaluateProgram(() => {
      new ReplicationServers("shop", { ...plainServers, replicas: 2 });
    });
    expect(without.map(({ name }) => name).filter((name) => /sentinel|proxy/.test(name))).toEqual([]);
    const scripts = "kubernetes:core/v1:ConfigMapPatch shop-scripts";
    const others = without.filter(({ type, name }) => `${type} ${name}` !== scripts);
    expect(JSON.stringify(others)).not.toContain("26379");
  });
});

describe("the proxies' configuration", () => {
  const hosts = ["shop-0.shop-headless.x.svc.cluster.local", "shop-1.shop-headless.x.svc.cluster.local"];

  it("asks every node whether it is the primary, and drops who is connected to one that is no more", () => {
    const text = proxyConfig(hosts, 5000, false);
    expect(text).toContain("  server shop-1 shop-1.shop-headless.x.svc.cluster.local:6379 check\n");
    expect(text).toContain("tcp-check expect min-recv 64 string role:master");
    expect(text).toContain("on-marked-down shutdown-sessions");
    expect(text).not.toMatch(/^\s*#|undefined|ssl/m);
  });

  it.each([
    [500, 4],
    [2000, 5],
    [5000, 13],
    [60_000, 16],
  ])("keeps the clients of a primary without an answer while Sentinels wait %d ms", (downAfterMs, fall) => {
    expect(proxyConfig(hosts, downAfterMs, false)).toContain(
      ` inter 400ms fastinter 10ms downinter 100ms fall ${fall} `,
    );
  });

  it("differs with TLS in the checks only: the connections of clients are passed through", () => {
    const [without, secure] = [false, true].map((tls) => proxyConfig(hosts, 5000, tls).split("\n"));
    const changed = secure?.filter((line, index) => line !== without?.[index]) ?? [];
    expect(secure).toHaveLength(without?.length ?? 0);
    expect(changed.map((line) => line.split(/ check(?= )/)[0]?.trim())).toEqual(
      hosts.map((host, index) => `server shop-${index} ${host}:6379`),
    );
    for (const line of changed) expect(line).toMatch(/ check check-ssl verify required .* verifyhost shop-\d\./);
  });
});
