import { describe, expect, it } from "vitest";
import type { Resources } from "../../../../components/kubernetes/arguments";
import { isGuaranteed } from "../../../../components/kubernetes/pods/sidecar-resources";
import type { ClusterServersArgs } from "../../../../components/kubernetes/servers/cluster-servers";
import { ClusterServers } from "../../../../components/kubernetes/servers/cluster-servers";
import { passwordHash } from "../../../../valkey/access/users";
import type { DeclaredResource } from "../../../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource, outputValue } from "../../../support/pulumi/pulumi-mocks";
import { plainServers, studyServers } from "../../../support/kubernetes/server-args";

const shape = { primaries: 3, replicasPerPrimary: 1 };
const plain: ClusterServersArgs = { ...plainServers, shape };

function cluster(changes: Partial<ClusterServersArgs> = {}): Promise<readonly DeclaredResource[]> {
  return evaluateProgram(() => {
    new ClusterServers("cluster", { ...plain, ...changes });
  });
}

const statefulSet = async (changes: Partial<ClusterServersArgs> = {}): Promise<DeclaredResource> =>
  onlyResource(await cluster(changes), "kubernetes:apps/v1:StatefulSet");

describe("ClusterServers", () => {
  it("is these objects, each a child of the component", async () => {
    const resources = await cluster();
    expect(resources.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "valkey:kubernetes:ClusterServers cluster",
      "kubernetes:core/v1:Secret cluster-password",
      "kubernetes:core/v1:SecretPatch cluster-password",
      "kubernetes:core/v1:Service cluster-headless",
      "kubernetes:core/v1:ConfigMap cluster-config",
      "kubernetes:core/v1:ConfigMapPatch cluster-config",
      "kubernetes:core/v1:ConfigMap cluster-scripts",
      "kubernetes:core/v1:ConfigMapPatch cluster-scripts",
      "kubernetes:core/v1:ServiceAccount cluster",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy cluster",
      "kubernetes:policy/v1:PodDisruptionBudget cluster",
      "kubernetes:apps/v1:StatefulSet cluster",
      "kubernetes:core/v1:Service cluster",
    ]);
    const [component, ...children] = resources;
    expect(component?.parent).toBeUndefined();
    expect(new Set(children.map(({ parent }) => parent))).toEqual(
      new Set(["valkey:kubernetes:ClusterServers cluster"]),
    );
    for (const { inputs } of children)
      expect(inputs).toMatchObject({
        metadata: { namespace: "valkey", labels: { "app.kubernetes.io/instance": "cluster" } },
      });
  });

  it("waits with the pods for what they need and the clients' Service for nothing that waits for pods", async () => {
    const resources = await cluster();
    expect(onlyResource(resources, "kubernetes:apps/v1:StatefulSet").dependsOn).toEqual([
      "kubernetes:core/v1:ConfigMapPatch cluster-config",
      "kubernetes:core/v1:ConfigMapPatch cluster-scripts",
      "kubernetes:core/v1:SecretPatch cluster-password",
      "kubernetes:core/v1:Service cluster-headless",
      "kubernetes:core/v1:ServiceAccount cluster",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy cluster",
      "kubernetes:policy/v1:PodDisruptionBudget cluster",
    ]);
    expect(onlyResource(resources, "kubernetes:core/v1:Service", "cluster").dependsOn).toEqual([]);
  });

  it("keeps the password a secret, in files alone, quoted for valkey.conf", async () => {
    const resources = await cluster({ password: 'a "b" \\c' });
    const secret = onlyResource(resources, "kubernetes:core/v1:SecretPatch");
    expect(secret.secrets.every((path) => path.startsWith("stringData"))).toBe(true);
    expect(secret.secrets.length).toBeGreaterThan(0);
    expect(secret.inputs["stringData"]).toEqual({
      password: 'a "b" \\c',
      "password.conf": 'aclfile /valkey/secret/users.acl\nprimaryauth "a \\"b\\" \\\\c"\n',
      "users.acl": `user default on #${passwordHash('a "b" \\c')} ~* &* +@all\n`,
    });
    for (const { type, inputs } of resources)
      if (type !== "kubernetes:core/v1:SecretPatch") expect(JSON.stringify(inputs)).not.toContain("\\\\c");
  });

  it("publishes every pod's name, ready or not, and only ready pods to clients", async () => {
    const resources = await cluster();
    expect(onlyResource(resources, "kubernetes:core/v1:Service", "cluster-headless").inputs["spec"]).toMatchObject({
      clusterIP: "None",
      publishNotReadyAddresses: true,
    });
    expect(onlyResource(resources, "kubernetes:core/v1:Service", "cluster").inputs["spec"]).not.toHaveProperty(
      "publishNotReadyAddresses",
    );
  });

  it("meets the restricted Pod Security Standard with each container, and gives no pod a token", async () => {
    const resources = await cluster({ metrics: { serviceMonitor: false } });
    const { spec } = podOf(onlyResource(resources, "kubernetes:apps/v1:StatefulSet"));
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(spec.containers.map(({ name }) => name)).toEqual(["valkey", "metrics"]);
    for (const { securityContext } of spec.containers) {
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      });
    }
    expect(onlyResource(resources, "kubernetes:core/v1:ServiceAccount").inputs["automountServiceAccountToken"]).toBe(
      false,
    );
  });

  it("is of the class Guaranteed with its exporter where the server asks for its limits", async () => {
    const guaranteed = async (resources: Resources): Promise<boolean[]> =>
      podOf(
        onlyResource(
          await cluster({ metrics: { serviceMonitor: false }, resources }),
          "kubernetes:apps/v1:StatefulSet",
        ),
      ).spec.containers.map((each) => isGuaranteed(each.resources));
    expect(await guaranteed({ requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } })).toEqual([
      true,
      true,
    ]);
    expect(await guaranteed(plain.resources)).toEqual([false, false]);
  });

  it("spreads over zones hard, over machines as asked, on machines that are asked for", async () => {
    const soft = podOf(await statefulSet()).spec;
    expect(soft.topologySpreadConstraints).toEqual([
      {
        topologyKey: "topology.kubernetes.io/zone",
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
        minDomains: 3,
        nodeAffinityPolicy: "Honor",
        nodeTaintsPolicy: "Honor",
        labelSelector: { matchLabels: { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "cluster" } },
      },
    ]);
    expect(Object.keys(soft.affinity.podAntiAffinity)).toEqual(["preferredDuringSchedulingIgnoredDuringExecution"]);
    const toleration = { key: "../../../support/kubernetes/server-args", operator: "Exists", effect: "NoSchedule" };
    const strict = podOf(
      await statefulSet({
        placement: {
          zones: ["a", "b"],
          hostAntiAffinity: "required",
          nodeSelector: { pool: "servers" },
          tolerations: [toleration],
        },
      }),
    ).spec;
    expect(Object.keys(strict.affinity.podAntiAffinity)).toEqual(["requiredDuringSchedulingIgnoredDuringExecution"]);
    expect(strict.topologySpreadConstraints).toMatchObject([{ minDomains: 2 }]);
    expect(strict).toMatchObject({ nodeSelector: { pool: "servers" }, tolerations: [toleration] });
    const ordered = podOf(
      await statefulSet({ placement: { zones: ["a", "b", "c"], hostAntiAffinity: "required", ownMachines: true } }),
    ).spec;
    expect(strict.topologySpreadConstraints).toMatchObject([{ nodeTaintsPolicy: "Honor" }]);
    expect(ordered.topologySpreadConstraints).toMatchObject([{ nodeTaintsPolicy: "Ignore" }]);
    const zone = (...values: string[]): object => ({
      matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values }],
    });
    expect([strict, ordered].map(({ affinity }) => affinity.nodeAffinity)).toEqual([
      { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone("a", "b")] } },
      {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone("a", "b", "c")] },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 2, preference: zone("a") },
          { weight: 1, preference: zone("b") },
        ],
      },
    ]);
  });

  it("announces an address that is the pod's own and a host name that stays", async () => {
    const [server] = podOf(await statefulSet({ clusterDomain: "corp.example" })).spec.containers;
    expect(server?.command?.slice(6)).toEqual([
      "--cluster-announce-ip",
      "$(POD_IP)",
      "--cluster-announce-hostname",
      "$(POD_NAME).cluster-headless.$(POD_NAMESPACE).svc.corp.example",
      "--availability-zone",
      "$(ZONE)",
      "--include",
      "/valkey/announced/$(POD_NAME).conf*",
    ]);
    expect(server?.env).toContainEqual({
      name: "ZONE",
      valueFrom: { fieldRef: { fieldPath: "metadata.labels['topology.kubernetes.io/zone']" } },
    });
    const [older] = podOf(await statefulSet({ image: "docker.io/valkey/valkey:8.0.1" })).spec.containers;
    expect(older?.command).not.toContain("--availability-zone");
    expect(server?.env.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["POD_NAME", "POD_NAMESPACE", "POD_IP"]),
    );
  });

  it("asks its replicas before it starts, for as long as its startup probe lets it", async () => {
    for (const engine of ["valkey", "redis"] as const) {
      const server = podOf(await statefulSet({ engine })).spec.containers[0];
      const [shell, script, seconds, patience, ...started] = server?.command ?? [];
      expect([shell, script]).toEqual(["sh", "/valkey/scripts/start-cluster.sh"]);
      expect(started.slice(0, 2)).toEqual([`${engine}-server`, "/valkey/config/valkey.conf"]);
      expect(server).not.toHaveProperty("args");
      expect(Number(patience)).toBeGreaterThan(Number(seconds));
      const { periodSeconds, failureThreshold } = server?.startupProbe ?? { periodSeconds: 0, failureThreshold: 0 };
      expect(periodSeconds * failureThreshold).toBeGreaterThan(Number(patience));
    }
  });

  it("hands a primary over before its pod goes, with time left to end", async () => {
    const { spec } = podOf(await statefulSet());
    expect(spec.containers[0]?.lifecycle.preStop.exec.command).toEqual(["sh", "/valkey/scripts/hand-over.sh", "30"]);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(30 + 60);
  });

  it("restarts pods for another setting that running servers do not take, and for nothing else", async () => {
    const checksum = async (changes: Partial<ClusterServersArgs>): Promise<unknown> =>
      podOf(await statefulSet(changes)).metadata.annotations["checksum/config"];
    const before = await checksum({});
    expect(await checksum({ settings: { "io-threads": 2 } })).not.toBe(before);
    expect(await checksum({ settings: { maxmemory: 1 } })).toBe(before);
    expect(await checksum({ engine: "redis", settings: { maxmemory: 1 } })).not.toBe(before);
    expect(await checksum({ shape: { primaries: 4, replicasPerPrimary: 2 }, password: "another" })).toBe(before);
  });

  it("changes replicas and the number of servers in the configuration, and nothing else, when it is scaled", async () => {
    const without = async (changes: Partial<ClusterServersArgs>): Promise<unknown[]> =>
      (await cluster(changes)).map(({ type, name, inputs }) => [
        type,
        name,
        type === "kubernetes:apps/v1:StatefulSet"
          ? { ...inputs, spec: { ...(inputs["spec"] as object), replicas: 0 } }
          : name === "cluster-config"
            ? { ...inputs, data: { ...(inputs["data"] as object), servers: "" } }
            : inputs,
      ]);
    const larger = { shape: { primaries: 5, replicasPerPrimary: 1 } };
    expect(await without(larger)).toEqual(await without({}));
    const resources = await cluster(larger);
    expect(onlyResource(resources, "kubernetes:apps/v1:StatefulSet").inputs["spec"]).toMatchObject({ replicas: 10 });
    expect(onlyResource(resources, "kubernetes:core/v1:ConfigMapPatch", "cluster-config").inputs["data"]).toMatchObject(
      {
        servers: "10\n",
      },
    );
  });

  it("takes storage, resources and settings as they are given", async () => {
    const resources = await cluster({ ...studyServers });
    const set = onlyResource(resources, "kubernetes:apps/v1:StatefulSet");
    expect(set.inputs["spec"]).toMatchObject({
      replicas: 6,
      podManagementPolicy: "Parallel",
      serviceName: "cluster-headless",
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
      volumeClaimTemplates: [
        { metadata: { name: "data" }, spec: { storageClassName: "gp3", resources: { requests: { storage: "50Gi" } } } },
      ],
    });
    expect(podOf(set).spec.containers[0]).toMatchObject({ resources: studyServers.resources });
    expect(onlyResource(resources, "kubernetes:core/v1:ConfigMapPatch", "cluster-config").inputs["data"]).toEqual({
      "valkey.conf": [
        "port 6379",
        "dir /data",
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        "cluster-port 16379",
        "cluster-preferred-endpoint-type ip",
        "appendonly yes",
        "appendfsync everysec",
        "save 900 1 300 100 60 10000",
        "maxmemory 10737418240",
        "include /valkey/secret/password.conf",
        "",
      ].join("\n"),
      servers: "6\n",
    });
    expect((await statefulSet({ storage: { size: "1Gi", onDestroy: "delete" } })).inputs["spec"]).toMatchObject({
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
    });
  });

  it("pulls a tag at every start and a digest once", async () => {
    const policy = async (changes: Partial<ClusterServersArgs>): Promise<unknown> =>
      podOf(await statefulSet(changes)).spec.containers[0]?.imagePullPolicy;
    expect(await policy({})).toBe("Always");
    expect(await policy({ image: `valkey/valkey:9.1.2@sha256:${"0".repeat(64)}` })).toBe("IfNotPresent");
    expect(await policy({ imagePullPolicy: "IfNotPresent" })).toBe("IfNotPresent");
  });

  it("lets in clients, peers and DNS, and monitoring only where there is an exporter", async () => {
    const policy = async (changes: Partial<ClusterServersArgs>): Promise<unknown> =>
      onlyResource(await cluster(changes), "kubernetes:networking.k8s.io/v1:NetworkPolicy").inputs["spec"];
    const own = {
      podSelector: { matchLabels: { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "cluster" } },
    };
    const bus = [
      { protocol: "TCP", port: 6379 },
      { protocol: "TCP", port: 16_379 },
    ];
    expect(await policy({})).toEqual({
      ...own,
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { from: [own, { podSelector: {} }], ports: [{ protocol: "TCP", port: 6379 }] },
        { from: [own], ports: bus },
      ],
      egress: [
        { to: [own], ports: bus },
        {
          ports: [
            { protocol: "UDP", port: 53 },
            { protocol: "TCP", port: 53 },
          ],
        },
      ],
    });
    const application = { podSelector: { matchLabels: { app: "shop" } } };
    const prometheus = { namespaceSelector: { matchLabels: { name: "monitoring" } } };
    expect(
      await policy({
        access: { clients: [application], monitoring: [prometheus] },
        metrics: { serviceMonitor: false },
      }),
    ).toMatchObject({
      ingress: [{ from: [own, application] }, { from: [own] }, { from: [own, prometheus], ports: [{ port: 9121 }] }],
    });
  });

  it("has an exporter that reads the password from a file, and a ServiceMonitor only if wanted", async () => {
    const resources = await cluster({ metrics: { serviceMonitor: true } });
    const exporter = podOf(onlyResource(resources, "kubernetes:apps/v1:StatefulSet")).spec.containers[1];
    expect(exporter).toMatchObject({
      image: "ghcr.io/oliver006/redis_exporter:v1.86.0",
      env: [
        { name: "REDIS_ADDR", value: "redis://localhost:6379" },
        { name: "REDIS_PASSWORD_FILE", value: "/valkey/secret/exporter.json" },
      ],
    });
    expect(onlyResource(resources, "kubernetes:core/v1:SecretPatch").inputs["stringData"]).toMatchObject({
      "exporter.json": '{"redis://localhost:6379":"a secret"}',
    });
    const service = onlyResource(resources, "kubernetes:core/v1:Service", "cluster-metrics");
    const monitor = onlyResource(resources, "kubernetes:monitoring.coreos.com/v1:ServiceMonitor");
    expect((monitor.inputs["spec"] as { selector: { matchLabels: unknown } }).selector.matchLabels).toEqual(
      (service.inputs["metadata"] as { labels: unknown }).labels,
    );
    const quiet = await cluster({ metrics: { serviceMonitor: false, image: "registry.example/exporter:1" } });
    expect(quiet.some(({ type }) => type.includes("ServiceMonitor"))).toBe(false);
    expect(podOf(onlyResource(quiet, "kubernetes:apps/v1:StatefulSet")).spec.containers[1]?.image).toBe(
      "registry.example/exporter:1",
    );
  });

  it("speaks TLS everywhere when it has a certificate", async () => {
    const resources = await cluster({ tls: { secretName: "certificate" }, metrics: { serviceMonitor: false } });
    const config = (
      onlyResource(resources, "kubernetes:core/v1:ConfigMapPatch", "cluster-config").inputs["data"] as Record<
        string,
        string
      >
    )["valkey.conf"];
    for (const line of [
      "port 0",
      "tls-port 6379",
      "tls-replication yes",
      "tls-cluster yes",
      "cluster-preferred-endpoint-type hostname",
      "tls-ca-cert-file /valkey/tls/ca.crt",
    ])
      expect(config?.split("\n")).toContain(line);
    const { spec } = podOf(onlyResource(resources, "kubernetes:apps/v1:StatefulSet"));
    expect(spec.volumes).toContainEqual({ name: "tls", secret: { secretName: "certificate", defaultMode: 0o440 } });
    expect(spec.containers[0]?.livenessProbe.exec.command).toEqual(expect.arrayContaining(["--tls", "--insecure"]));
    expect(spec.containers[0]?.env).toContainEqual({ name: "VALKEY_TLS_CA", value: "/valkey/tls/ca.crt" });
    expect(spec.containers[1]?.env).toContainEqual({ name: "REDIS_ADDR", value: "rediss://localhost:6379" });
  });

  it("leaves waiting for pods to those who can say why they do not run, and says when they are others", async () => {
    const resources = await cluster();
    for (const set of [
      onlyResource(resources, "kubernetes:apps/v1:StatefulSet"),
      onlyResource(resources, "kubernetes:core/v1:Service", "cluster"),
    ]) {
      expect(set.inputs["metadata"]).toMatchObject({
        annotations: { "pulumi.com/waitFor": "jsonpath={.metadata.uid}" },
      });
    }
    const revision = async (changes: Partial<ClusterServersArgs>): Promise<unknown> => {
      let made: ClusterServers | undefined;
      await evaluateProgram(() => {
        made = new ClusterServers("cluster", { ...plain, ...changes });
      });
      return made && outputValue(made.revision);
    };
    const before = await revision({});
    expect(before).toMatch(/^[0-9a-f]{32}$/);
    expect(await revision({ shape: { primaries: 4, replicasPerPrimary: 1 }, password: "another" })).toBe(before);
    for (const changes of [
      { settings: { "io-threads": 2 } },
      { image: "valkey:9" },
      { resources: studyServers.resources },
    ])
      expect(await revision(changes)).not.toBe(before);
  });

  it("says where its nodes are", async () => {
    let made: ClusterServers | undefined;
    await evaluateProgram(() => {
      made = new ClusterServers("cluster", plain);
    });
    expect(made?.pods).toMatchObject({
      statefulSet: "cluster",
      count: 6,
      container: "valkey",
      port: 6379,
      headless: "cluster-headless",
      secret: { name: "cluster-password", key: "password" },
      zones: ["a", "b", "c"],
      selector: { "app.kubernetes.io/instance": "cluster" },
    });
    const endpoint = await new Promise((resolve) => made?.endpoint.apply(resolve));
    expect(endpoint).toBe("cluster.valkey.svc.cluster.local:6379");
  });

  it("refuses zones that cannot be, before it registers anything", async () => {
    await expect(cluster({ placement: { zones: ["a"], hostAntiAffinity: "required" } })).rejects.toThrow(
      "cluster cannot be placed: zones lists 1 zone; expected at least 2",
    );
  });
});

interface Pod {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly affinity: { readonly nodeAffinity: object; readonly podAntiAffinity: object };
    readonly topologySpreadConstraints: unknown;
    readonly terminationGracePeriodSeconds: number;
    readonly volumes: readonly unknown[];
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly imagePullPolicy: string;
      readonly command?: readonly string[];
      readonly env: readonly { readonly name: string }[];
      readonly resources: Resources;
      readonly securityContext: unknown;
      readonly startupProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
      readonly livenessProbe: { readonly exec: { readonly command: readonly string[] } };
      readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
    }[];
  };
}

function podOf({ inputs }: DeclaredResource): Pod {
  return (inputs["spec"] as { readonly template: Pod }).template;
}
