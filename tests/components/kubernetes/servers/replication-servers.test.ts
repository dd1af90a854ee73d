import { describe, expect, it } from "vitest";
import type { Resources } from "../../../../components/kubernetes/arguments";
import { isGuaranteed } from "../../../../components/kubernetes/pods/sidecar-resources";
import type { ReplicationServersArgs } from "../../../../components/kubernetes/servers/replication-servers";
import { ReplicationServers } from "../../../../components/kubernetes/servers/replication-servers";
import { passwordHash } from "../../../../valkey/access/users";
import type { DeclaredResource } from "../../../support/pulumi/pulumi-mocks";
import { declareOne, onlyResource, outputValue } from "../../../support/pulumi/pulumi-mocks";
import { plainServers, studyServers } from "../../../support/kubernetes/server-args";

const plain: ReplicationServersArgs = { ...plainServers, replicas: 3 };
const SENTINEL = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
const SERVERS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "replication" };
const SET = "kubernetes:apps/v1:StatefulSet";
const CONFIG_MAP = "kubernetes:core/v1:ConfigMapPatch";
const SERVICE = "kubernetes:core/v1:Service";

type Changes = Partial<ReplicationServersArgs>;

const declare = (
  changes: Changes = {},
): Promise<{ component: ReplicationServers; resources: readonly DeclaredResource[] }> =>
  declareOne(() => new ReplicationServers("replication", { ...plain, ...changes }));
const replication = async (changes: Changes = {}): Promise<readonly DeclaredResource[]> =>
  (await declare(changes)).resources;
const statefulSet = async (changes: Changes = {}): Promise<DeclaredResource> =>
  onlyResource(await replication(changes), SET, "replication");
const dataOf = (resources: readonly DeclaredResource[], configMap: string): Readonly<Record<string, string>> =>
  onlyResource(resources, CONFIG_MAP, configMap).inputs["data"] as Record<string, string>;
const selectorOf = (resources: readonly DeclaredResource[], service: string): unknown =>
  (onlyResource(resources, SERVICE, service).inputs["spec"] as { selector: unknown }).selector;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly command: readonly string[];
  readonly args?: unknown;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: unknown;
  readonly resources: Resources;
  readonly securityContext: unknown;
  readonly startupProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
  readonly livenessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly volumeMounts: readonly unknown[];
}
interface Pod {
  readonly spec: {
    readonly containers: readonly [Container, ...Container[]];
    readonly initContainers?: readonly Container[];
    readonly terminationGracePeriodSeconds: number;
    readonly volumes: readonly unknown[];
  };
}
const podOf = ({ inputs }: DeclaredResource): Pod => (inputs["spec"] as { readonly template: Pod }).template;
const serverOf = async (changes: Changes = {}): Promise<Container> =>
  podOf(await statefulSet(changes)).spec.containers[0];
const variablesOf = ({ env }: Container): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value]));

describe("ReplicationServers", () => {
  it("is these objects, each a child of the component", async () => {
    const resources = await replication();
    expect(resources.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "valkey:kubernetes:ReplicationServers replication",
      "kubernetes:core/v1:Secret replication-password",
      "kubernetes:core/v1:SecretPatch replication-password",
      "kubernetes:core/v1:Service replication-headless",
      "kubernetes:core/v1:ConfigMap replication-config",
      "kubernetes:core/v1:ConfigMapPatch replication-config",
      "kubernetes:core/v1:ConfigMap replication-scripts",
      "kubernetes:core/v1:ConfigMapPatch replication-scripts",
      "kubernetes:core/v1:ServiceAccount replication",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy replication",
      "kubernetes:policy/v1:PodDisruptionBudget replication",
      "kubernetes:core/v1:ConfigMap replication-primary",
      "kubernetes:apps/v1:StatefulSet replication",
      "kubernetes:core/v1:Service replication",
      "kubernetes:core/v1:Service replication-read",
    ]);
    const [component, ...children] = resources;
    expect(component?.parent).toBeUndefined();
    expect(new Set(children.map(({ parent }) => parent))).toEqual(
      new Set(["valkey:kubernetes:ReplicationServers replication"]),
    );
    for (const { inputs } of children)
      expect(inputs).toMatchObject({
        metadata: { namespace: "valkey", labels: { "app.kubernetes.io/instance": "replication" } },
      });
  });

  it("starts pods when all that they need exists, and leaves waiting for them to Rollout", async () => {
    const set = await statefulSet();
    expect(set.dependsOn).toEqual([
      "kubernetes:core/v1:ConfigMap replication-primary",
      "kubernetes:core/v1:ConfigMapPatch replication-config",
      "kubernetes:core/v1:ConfigMapPatch replication-scripts",
      "kubernetes:core/v1:SecretPatch replication-password",
      "kubernetes:core/v1:Service replication-headless",
      "kubernetes:core/v1:ServiceAccount replication",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy replication",
      "kubernetes:policy/v1:PodDisruptionBudget replication",
    ]);
    for (const { inputs } of [set, onlyResource(await replication(), SERVICE, "replication")])
      expect(inputs["metadata"]).toMatchObject({ annotations: { "pulumi.com/waitFor": "jsonpath={.metadata.uid}" } });
  });

  it("is as in Valkey on EKS: one primary and three replicas, zones hard, AOF and RDB, gp3", async () => {
    const resources = await replication(studyServers);
    const set = onlyResource(resources, SET);
    expect(set.inputs["spec"]).toMatchObject({
      replicas: 4,
      podManagementPolicy: "Parallel",
      serviceName: "replication-headless",
      selector: { matchLabels: SERVERS },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
      volumeClaimTemplates: [
        { metadata: { name: "data" }, spec: { storageClassName: "gp3", resources: { requests: { storage: "50Gi" } } } },
      ],
    });
    expect(set.options.ignoreChanges).toEqual(["spec.volumeClaimTemplates"]);
    const { spec } = podOf(set);
    expect(spec).toMatchObject({
      topologySpreadConstraints: [
        { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule", maxSkew: 1, minDomains: 3 },
      ],
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100 }] } },
      containers: [{ name: "valkey", image: studyServers.image, resources: studyServers.resources }],
    });
    expect(spec.volumes).toEqual([
      { name: "config", configMap: { name: "replication-config" } },
      { name: "scripts", configMap: { name: "replication-scripts" } },
      {
        name: "secret",
        projected: {
          defaultMode: 0o440,
          sources: [
            { secret: { name: "replication-password" } },
            // Where both have a file, the last one's counts.
            { secret: { name: "replication-password-overlap", optional: true } },
          ],
        },
      },
      { name: "primary", configMap: { name: "replication-primary" } },
    ]);
    expect(spec.containers[0].volumeMounts).toEqual([
      { name: "data", mountPath: "/data" },
      { name: "primary", mountPath: "/valkey/primary", readOnly: true },
      { name: "config", mountPath: "/valkey/config", readOnly: true },
      { name: "scripts", mountPath: "/valkey/scripts", readOnly: true },
      { name: "secret", mountPath: "/valkey/secret", readOnly: true },
    ]);
    expect(onlyResource(resources, "kubernetes:policy/v1:PodDisruptionBudget").inputs["spec"]).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: SERVERS },
    });
    expect((await statefulSet()).inputs["spec"]).toMatchObject({
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
    });
  });

  it("keeps its data on the machine where it is told to", async () => {
    const set = await statefulSet({ storage: { ...plain.storage, ephemeral: true } });
    expect(set.inputs["spec"]).toMatchObject({ volumeClaimTemplates: [] });
    expect(podOf(set).spec.volumes).toContainEqual({ name: "data", emptyDir: {} });
  });

  it("reads a configuration with all settings, and saves its data before it stops where no replica can take over", async () => {
    const settings = { ...studyServers.settings, "io-threads": 2 };
    const own = [
      "repl-diskless-sync-max-replicas 3",
      "appendonly yes",
      "appendfsync everysec",
      "save 900 1 300 100 60 10000",
      "maxmemory 10737418240",
      "io-threads 2",
      "include /valkey/secret/password.conf",
      "",
    ];
    expect(dataOf(await replication({ settings }), "replication-config")).toEqual({
      "valkey.conf": ["port 6379", "dir /data", "shutdown-on-sigterm save", ...own].join("\n"),
      servers: "4\n",
    });
    expect(dataOf(await replication({ settings, sentinel: SENTINEL }), "replication-config")).toEqual({
      "valkey.conf": ["port 6379", "dir /data", ...own].join("\n"),
      servers: "4\n",
    });
  });

  it("keeps the password a secret, in files only, quoted for valkey.conf", async () => {
    const resources = await replication({ password: 'a "b" \\c', sentinel: SENTINEL });
    const secret = onlyResource(resources, "kubernetes:core/v1:SecretPatch");
    expect(secret.secrets.length).toBeGreaterThan(0);
    expect(secret.secrets.every((path) => path.startsWith("stringData"))).toBe(true);
    expect(secret.inputs["stringData"]).toEqual({
      password: 'a "b" \\c',
      "password.conf": 'aclfile /valkey/secret/users.acl\nprimaryauth "a \\"b\\" \\\\c"\n',
      "users.acl": `user default on #${passwordHash('a "b" \\c')} ~* &* +@all\n`,
    });
    for (const { type, inputs } of resources)
      if (type !== "kubernetes:core/v1:SecretPatch") expect(JSON.stringify(inputs)).not.toContain("\\\\c");
  });

  it("meets the restricted Pod Security Standard with each container, and gives no pod a token", async () => {
    const resources = await replication({ metrics: { serviceMonitor: false } });
    const { spec } = podOf(onlyResource(resources, SET));
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(spec.initContainers).toBeUndefined();
    expect(spec.containers.map(({ name }) => name)).toEqual(["valkey", "metrics"]);
    for (const { securityContext } of spec.containers)
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      });
    expect(onlyResource(resources, "kubernetes:core/v1:ServiceAccount").inputs["automountServiceAccountToken"]).toBe(
      false,
    );
  });

  it("has an exporter that reads the password from a file, and a ServiceMonitor only if wanted", async () => {
    const resources = await replication({ metrics: { serviceMonitor: true } });
    expect(podOf(onlyResource(resources, SET)).spec.containers[1]).toMatchObject({
      image: "ghcr.io/oliver006/redis_exporter:v1.86.0",
      env: [
        { name: "REDIS_ADDR", value: "redis://localhost:6379" },
        { name: "REDIS_PASSWORD_FILE", value: "/valkey/secret/exporter.json" },
      ],
    });
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toMatchObject({
      "exporter.json": '{"redis://localhost:6379":"a secret"}',
    });
    const service = onlyResource(resources, SERVICE, "replication-metrics");
    const monitor = onlyResource(resources, "kubernetes:monitoring.coreos.com/v1:ServiceMonitor");
    expect(monitor.inputs["spec"]).toMatchObject({
      selector: { matchLabels: (service.inputs["metadata"] as { labels: unknown }).labels },
    });
    const quiet = await replication({ metrics: { serviceMonitor: false } });
    expect(quiet.some(({ type }) => type.includes("ServiceMonitor"))).toBe(false);
    expect((await replication()).some(({ name }) => name.includes("metrics"))).toBe(false);
  });

  it("is of the class Guaranteed where its server asks for its limits, with every container of it: only such pods are given whole CPUs", async () => {
    const whole = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1000m", memory: "1024Mi" } };
    const asked = async (changes: Changes): Promise<boolean[]> => {
      const { containers, initContainers = [] } = podOf(
        await statefulSet({ metrics: { serviceMonitor: false }, sentinel: SENTINEL, ...changes }),
      ).spec;
      return [...containers, ...initContainers].map(({ resources }) => isGuaranteed(resources));
    };
    expect(await asked({ resources: whole })).toEqual([true, true]);
    expect(await asked({})).toEqual([false, false]);
  });

  it("pulls a tag at every start and a digest once", async () => {
    const policy = async (changes: Changes): Promise<string> => (await serverOf(changes)).imagePullPolicy;
    expect(await policy({})).toBe("Always");
    expect(await policy({ image: `valkey/valkey:9.1.2@sha256:${"0".repeat(64)}` })).toBe("IfNotPresent");
    expect(await policy({ imagePullPolicy: "IfNotPresent" })).toBe("IfNotPresent");
  });

  it("passes tolerations, machines and the domain on", async () => {
    const toleration = { key: "../../../support/kubernetes/server-args", operator: "Exists" };
    const placement = {
      zones: ["a", "b"],
      hostAntiAffinity: "required",
      tolerations: [toleration],
      nodeSelector: { pool: "servers" },
    } as const;
    const { spec } = podOf(await statefulSet({ clusterDomain: "corp.example", placement }));
    expect(spec).toMatchObject({ tolerations: [toleration], nodeSelector: { pool: "servers" } });
    expect(variablesOf(spec.containers[0])).toMatchObject({
      SERVERS: ".replication-headless.$(POD_NAMESPACE).svc.corp.example",
      PRIMARY_SERVICE: "replication.$(POD_NAMESPACE).svc.corp.example",
    });
  });

  it("says where its nodes are, and where to write and read", async () => {
    const { component } = await declare();
    expect(component.pods).toMatchObject({
      statefulSet: "replication",
      count: 4,
      container: "valkey",
      port: 6379,
      headless: "replication-headless",
      secret: { name: "replication-password", key: "password" },
      selector: SERVERS,
    });
    expect(await outputValue(component.endpoint)).toBe("replication.valkey.svc.cluster.local:6379");
    expect(await outputValue(component.readEndpoint)).toBe("replication-read.valkey.svc.cluster.local:6379");
  });

  it("refuses more zones than nodes, before it registers anything", async () => {
    await expect(replication({ replicas: 1 })).rejects.toThrow(
      "replication cannot be placed: zones lists 3 zones for 2 nodes; expected at most 2",
    );
  });
});

describe("the start of a server", () => {
  it("asks the others for newer data, for as long as its startup probe lets it, and announces a name that stays", async () => {
    for (const sentinel of [undefined, SENTINEL]) {
      const { command, args, startupProbe } = await serverOf({ sentinel });
      expect(args).toBeUndefined();
      const [shell, script, seconds, patience, ...server] = command;
      expect([shell, script]).toEqual(["sh", "/valkey/scripts/start-replication.sh"]);
      expect(server).toEqual([
        "valkey-server",
        "/valkey/config/valkey.conf",
        "--replica-announce-ip",
        "$(POD_NAME).replication-headless.$(POD_NAMESPACE).svc.cluster.local",
        "--availability-zone",
        "$(ZONE)",
      ]);
      expect(Number(patience)).toBeGreaterThan(Number(seconds));
      expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThan(Number(patience));
    }
    expect((await serverOf({ image: "docker.io/valkey/valkey:8.0.1" })).command).not.toContain("--availability-zone");
  });

  it("knows the Service of pod 0 without Sentinels, and the Sentinels with them", async () => {
    const common = {
      DEPLOYMENT: "replication",
      SERVERS: ".replication-headless.$(POD_NAMESPACE).svc.cluster.local",
      VALKEY_PASSWORD_FILE: "/valkey/secret/password",
    };
    const alone = variablesOf(await serverOf());
    expect(alone).toMatchObject({ ...common, PRIMARY_SERVICE: "replication.$(POD_NAMESPACE).svc.cluster.local" });
    expect(alone).not.toHaveProperty("SENTINELS");
    const watched = variablesOf(await serverOf({ sentinel: SENTINEL }));
    expect(watched).toMatchObject({
      ...common,
      SENTINELS: ".replication-sentinel.$(POD_NAMESPACE).svc.cluster.local",
      COUNT: "3",
      QUORUM: "2",
      DOWN_AFTER: "5000",
      FAILOVER_TIMEOUT: "10000",
    });
    expect(watched).not.toHaveProperty("PRIMARY_SERVICE");
  });

  it("has variables that refer to earlier ones only, as Kubernetes wants it", async () => {
    const resources = await replication({ sentinel: SENTINEL });
    for (const name of ["replication", "replication-sentinel"]) {
      const { env } = podOf(onlyResource(resources, SET, name)).spec.containers[0];
      for (const [index, { name: variable, value = "" }] of env.entries()) {
        const earlier = env.slice(0, index).map((each) => each.name);
        for (const [, reference = ""] of value.matchAll(/\$\((\w+)\)/g)) expect(earlier, variable).toContain(reference);
      }
    }
  });

  it("has every script that a pod runs, and every one that those read", async () => {
    for (const sentinel of [undefined, SENTINEL]) {
      const resources = await replication({ sentinel });
      const scripts = dataOf(resources, "replication-scripts");
      const pods = resources.filter(({ type }) => type === SET).map(podOf);
      const run = [...JSON.stringify(pods).matchAll(/\/valkey\/scripts\/([\w-]+\.sh)/g)];
      // The start script reads sentinels.sh only with Sentinels.
      const read = [
        ...Object.values(scripts)
          .join("\n")
          .matchAll(/^ *\. "\$\{0%\/\*\}\/([\w-]+\.sh)"/gm),
      ];
      const needed = [...run, ...read].map(([, name = ""]) => name);
      expect(needed.length).toBeGreaterThan(3);
      expect(Object.keys(scripts)).toEqual(
        expect.arrayContaining(needed.filter((name) => sentinel !== undefined || name !== "sentinels.sh")),
      );
    }
  });

  it("is ready by replication, and alive by any answer", async () => {
    const { readinessProbe, livenessProbe } = await serverOf();
    expect(readinessProbe.exec.command).toEqual(["sh", "/valkey/scripts/ready-replication.sh"]);
    expect(livenessProbe.exec.command).toEqual(["valkey-cli", "-p", "6379", "-t", "5", "PING"]);
  });

  it("lets a replica take over before a pod stops where Sentinels watch, with time left to save", async () => {
    const { spec } = podOf(await statefulSet({ sentinel: SENTINEL }));
    expect(spec.containers[0].lifecycle?.preStop.exec.command).toEqual([
      "sh",
      "/valkey/scripts/hand-over-replication.sh",
      "30",
    ]);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(30 + 60);
    const alone = podOf(await statefulSet()).spec;
    expect(alone.containers[0].lifecycle).toBeUndefined();
    expect(alone.terminationGracePeriodSeconds).toBe(spec.terminationGracePeriodSeconds);
  });
});

describe("the Services of servers", () => {
  const services = (resources: readonly DeclaredResource[]): string[] =>
    resources.flatMap(({ type, name }) => (type === SERVICE ? [name] : [])).sort();

  it("select pod 0 to write and all pods to read without Sentinels", async () => {
    const resources = await replication();
    expect(services(resources)).toEqual(["replication", "replication-headless", "replication-read"]);
    expect(selectorOf(resources, "replication")).toEqual({
      ...SERVERS,
      "statefulset.kubernetes.io/pod-name": "replication-0",
    });
    expect(selectorOf(resources, "replication-read")).toEqual(SERVERS);
    for (const name of ["replication", "replication-read"]) {
      const { spec } = onlyResource(resources, SERVICE, name).inputs;
      expect(spec).toMatchObject({ ports: [{ name: "valkey", port: 6379, targetPort: "valkey" }] });
      // Only pods that are ready.
      expect(spec).not.toHaveProperty("publishNotReadyAddresses");
    }
    // A pod has its name before it is ready: the others ask it for newer data.
    expect(onlyResource(resources, SERVICE, "replication-headless").inputs["spec"]).toMatchObject({
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: SERVERS,
    });
  });

  it("are led elsewhere by Rollout when another server becomes the primary, and an update leaves them there", async () => {
    const strategyOf = (resources: readonly DeclaredResource[]): unknown => {
      const { spec } = onlyResource(resources, "kubernetes:apps/v1:StatefulSet", "replication").inputs;
      return (spec as { updateStrategy: { type: string } }).updateStrategy.type;
    };
    const alone = await replication();
    const { resources: watched } = await declare({ sentinel: SENTINEL });
    for (const resources of [alone, watched]) {
      expect(onlyResource(resources, SERVICE, "replication").options.ignoreChanges).toEqual(["spec.selector"]);
      const file = onlyResource(resources, "kubernetes:core/v1:ConfigMap", "replication-primary");
      expect([file.inputs["data"], file.options.ignoreChanges]).toEqual([{ pod: "replication-0" }, ["data"]]);
    }
    expect([strategyOf(alone), strategyOf(watched)]).toEqual(["OnDelete", "RollingUpdate"]);
  });

  it("select the proxies to write and all pods to read with Sentinels, and never pod 0 only", async () => {
    const { component, resources } = await declare({ sentinel: SENTINEL });
    expect(services(resources)).toEqual([
      "replication",
      "replication-headless",
      "replication-read",
      "replication-sentinel",
    ]);
    expect(selectorOf(resources, "replication")).toEqual({
      "app.kubernetes.io/name": "valkey-proxy",
      "app.kubernetes.io/instance": "replication",
    });
    expect(selectorOf(resources, "replication-read")).toEqual(SERVERS);
    expect(await outputValue(component.endpoint)).toBe("replication.valkey.svc.cluster.local:6379");
    expect(await outputValue(component.readEndpoint)).toBe("replication-read.valkey.svc.cluster.local:6379");
  });

  it("are reached by clients and peers, and the servers reach peers and DNS only", async () => {
    const { spec } = onlyResource(await replication(), "kubernetes:networking.k8s.io/v1:NetworkPolicy").inputs;
    const own = { podSelector: { matchLabels: SERVERS } };
    const ports = [{ protocol: "TCP", port: 6379 }];
    expect(spec).toEqual({
      ...own,
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { from: [own, { podSelector: {} }], ports },
        { from: [own], ports },
      ],
      egress: [
        { to: [own], ports },
        {
          ports: [
            { protocol: "UDP", port: 53 },
            { protocol: "TCP", port: 53 },
          ],
        },
      ],
    });
  });
});

describe("a change of running servers", () => {
  const KINDS: readonly [string, Changes][] = [
    ["without Sentinels", {}],
    ["with Sentinels", { sentinel: SENTINEL }],
  ];

  /** The pod templates of servers and Sentinels, and the revision that `Rollout` waits for. */
  async function podsOf(changes: Changes): Promise<{ readonly templates: readonly Pod[]; readonly revision: string }> {
    const { component, resources } = await declare(changes);
    const templates = resources.filter(({ type }) => type === SET).map(podOf);
    return { templates, revision: await outputValue(component.revision) };
  }

  it.each(KINDS)(
    "keeps all pods for more replicas, a new password and a setting that servers take: %s",
    async (_what, kind) => {
      const before = await podsOf(kind);
      expect(before.revision).toMatch(/^[0-9a-f]{32}$/);
      for (const change of [{ replicas: 5 }, { settings: { maxmemory: 1 } }, { password: "a-new-password" }])
        expect(await podsOf({ ...kind, ...change })).toEqual(before);
    },
  );

  it.each(KINDS)("restarts pods for what a running server does not take: %s", async (_what, kind) => {
    const { revision } = await podsOf(kind);
    for (const change of [
      { settings: { "io-threads": 2 } },
      { image: "docker.io/valkey/valkey:9.0.2" },
      { resources: studyServers.resources },
      { tls: { secretName: "certificate" } },
      { sentinel: kind.sentinel === undefined ? SENTINEL : undefined },
    ])
      expect((await podsOf({ ...kind, ...change })).revision, JSON.stringify(change)).not.toBe(revision);
  });

  it("changes only the objects that hold the changed value", async () => {
    const changed = async (kind: Changes, change: Changes): Promise<string[]> => {
      const before = await replication(kind);
      const after = await replication({ ...kind, ...change });
      expect(after.map(({ type, name }) => [type, name])).toEqual(before.map(({ type, name }) => [type, name]));
      return after.flatMap(({ type, name, inputs }, index) =>
        JSON.stringify(inputs) === JSON.stringify(before[index]?.inputs) ? [] : [`${type} ${name}`],
      );
    };
    const config = "kubernetes:core/v1:ConfigMapPatch replication-config";
    const set = "kubernetes:apps/v1:StatefulSet replication";
    expect(await changed({}, { settings: { maxmemory: 1 } })).toEqual([config]);
    expect(await changed({}, { replicas: 5 })).toEqual([config, set]);
    // Proxies read the servers' names when they start.
    const proxies = [
      "kubernetes:core/v1:ConfigMapPatch replication-proxy",
      "kubernetes:apps/v1:Deployment replication-proxy",
    ];
    expect(await changed({ sentinel: SENTINEL }, { replicas: 5 })).toEqual([config, set, ...proxies]);
    const resources = await replication({ replicas: 5 });
    expect(onlyResource(resources, SET).inputs["spec"]).toMatchObject({ replicas: 6 });
    expect(dataOf(resources, "replication-config")["servers"]).toBe("6\n");
  });
});

describe("TLS of servers", () => {
  const TLS: Changes = { tls: { secretName: "certificate" } };
  const VOLUME = { name: "tls", secret: { secretName: "certificate", defaultMode: 0o440 } };
  const MOUNT = { name: "tls", mountPath: "/valkey/tls", readOnly: true };

  it("encrypts connections of clients, servers, probes and exporters", async () => {
    const resources = await replication({ ...TLS, metrics: { serviceMonitor: false } });
    const config = dataOf(resources, "replication-config")["valkey.conf"]?.split("\n");
    for (const line of [
      "port 0",
      "tls-port 6379",
      "tls-cert-file /valkey/tls/tls.crt",
      "tls-key-file /valkey/tls/tls.key",
      "tls-ca-cert-file /valkey/tls/ca.crt",
      "tls-auth-clients optional",
      "tls-replication yes",
      "shutdown-on-sigterm save",
    ])
      expect(config).toContain(line);
    const { spec } = podOf(onlyResource(resources, SET));
    const [server, exporter] = spec.containers;
    expect(spec.volumes).toContainEqual(VOLUME);
    for (const container of [server, exporter]) expect(container?.volumeMounts).toContainEqual(MOUNT);
    expect(server.livenessProbe.exec.command).toEqual(expect.arrayContaining(["--tls", "--insecure"]));
    expect(variablesOf(server)).toMatchObject({ VALKEY_TLS_CA: "/valkey/tls/ca.crt" });
    expect(exporter?.env).toEqual([
      { name: "REDIS_ADDR", value: "rediss://localhost:6379" },
      { name: "REDIS_PASSWORD_FILE", value: "/valkey/secret/exporter.json" },
      { name: "REDIS_EXPORTER_TLS_CA_CERT_FILE", value: "/valkey/tls/ca.crt" },
    ]);
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toMatchObject({
      "exporter.json": '{"rediss://localhost:6379":"a secret"}',
    });
    const without = await replication({ sentinel: SENTINEL });
    expect(JSON.stringify(without.map(({ name, inputs }) => (name.endsWith("-scripts") ? name : inputs)))).not.toMatch(
      /tls|ssl/i,
    );
  });

  it("encrypts connections of Sentinels, whose probes take any certificate", async () => {
    const resources = await replication({ ...TLS, sentinel: SENTINEL });
    const { spec } = podOf(onlyResource(resources, SET, "replication-sentinel"));
    const [sentinel] = spec.containers;
    expect(spec.volumes).toContainEqual(VOLUME);
    expect(sentinel.volumeMounts).toContainEqual(MOUNT);
    expect(variablesOf(sentinel)).toMatchObject({ VALKEY_TLS_CA: "/valkey/tls/ca.crt" });
    const ping = ["valkey-cli", "-p", "26379", "-t", "5", "--tls", "--insecure", "PING"];
    expect(sentinel.livenessProbe.exec.command).toEqual(ping);
    expect(sentinel.readinessProbe.exec.command).toEqual(["sh", "/valkey/scripts/ready-sentinel.sh"]);
    const plainly = podOf(onlyResource(await replication({ sentinel: SENTINEL }), SET, "replication-sentinel")).spec;
    expect(plainly.containers[0].livenessProbe.exec.command).toEqual(["valkey-cli", "-p", "26379", "-t", "5", "PING"]);
  });

  it("passes through the proxies, whose own checks verify the authority and the name of each server", async () => {
    const resources = await replication({ ...TLS, sentinel: SENTINEL });
    const { spec } = podOf(onlyResource(resources, "kubernetes:apps/v1:Deployment", "replication-proxy"));
    expect(spec.volumes).toContainEqual(VOLUME);
    expect(spec.containers[0].volumeMounts).toContainEqual(MOUNT);
    const config = dataOf(resources, "replication-proxy")["haproxy.cfg"] ?? "";
    const lines = config.split("\n").map((line) => line.trim());
    expect(lines.filter((line) => line.startsWith("server "))).toEqual(
      [0, 1, 2, 3].map((index) => {
        const host = `replication-${index}.replication-headless.valkey.svc.cluster.local`;
        const verified = `verify required ca-file /valkey/tls/ca.crt check-sni ${host} verifyhost ${host}`;
        return `server replication-${index} ${host}:6379 check check-ssl ${verified}`;
      }),
    );
    // Without this word checks are not encrypted, whatever the server's line says.
    expect(lines.filter((line) => line.startsWith("tcp-check connect"))).toEqual(["tcp-check connect default"]);
    expect(lines).toContain("bind :6379");
    expect(lines).toContain("mode tcp");
  });
});
