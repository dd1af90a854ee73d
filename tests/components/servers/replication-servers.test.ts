import { describe, expect, it } from "vitest";
import type { Resources } from "../../../components/kubernetes/arguments";
import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import type { ReplicationServersArgs } from "../../../components/servers/replication-servers";
import { ReplicationServers } from "../../../components/servers/replication-servers";
import { passwordHash } from "../../../valkey/access/users";
import type { DeclaredResource } from "../../support/pulumi/pulumi-mocks";
import { evaluateProgram, onlyResource } from "../../support/pulumi/pulumi-mocks";
import { plainServers, studyServers } from "../../support/valkey/servers";

const plain: ReplicationServersArgs = { ...plainServers, replicas: 3 };

function replication(changes: Partial<ReplicationServersArgs> = {}): Promise<readonly DeclaredResource[]> {
  return evaluateProgram(() => {
    new ReplicationServers("replication", { ...plain, ...changes });
  });
}

const chart = async (changes: Partial<ReplicationServersArgs> = {}): Promise<DeclaredResource> =>
  onlyResource(await replication(changes), "kubernetes:helm.sh/v4:Chart");
const values = async (changes: Partial<ReplicationServersArgs> = {}): Promise<unknown> =>
  (await chart(changes)).inputs["values"];

describe("ReplicationServers", () => {
  it("is the upstream chart, with what it lacks around it", async () => {
    const resources = await replication();
    expect(resources.map(({ type, name }) => `${type} ${name}`)).toEqual([
      "valkey:kubernetes:ReplicationServers replication",
      "kubernetes:core/v1:Secret replication-password",
      "kubernetes:core/v1:ConfigMap replication-scripts",
      "kubernetes:core/v1:ConfigMap replication-live-config",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy replication",
      "kubernetes:helm.sh/v4:Chart replication",
    ]);
    expect(new Set(resources.slice(1).map(({ parent }) => parent))).toEqual(
      new Set(["valkey:kubernetes:ReplicationServers replication"]),
    );
    const upstream = onlyResource(resources, "kubernetes:helm.sh/v4:Chart");
    expect(upstream.inputs).toMatchObject({
      name: "replication",
      namespace: "valkey",
      chart: "valkey",
      version: "0.11.0",
      repositoryOpts: { repo: "https://valkey.io/valkey-helm/" },
      skipAwait: true,
    });
    expect(upstream.dependsOn).toEqual([
      "kubernetes:core/v1:ConfigMap replication-live-config",
      "kubernetes:core/v1:ConfigMap replication-scripts",
      "kubernetes:core/v1:Secret replication-password",
      "kubernetes:networking.k8s.io/v1:NetworkPolicy replication",
    ]);
  });

  it("fetches the chart from where it is told", async () => {
    const oci = (
      await chart({ chart: { from: "oci", url: "oci://registry.example/charts/valkey", version: "0.11.0" } })
    ).inputs;
    expect(oci).toMatchObject({ chart: "oci://registry.example/charts/valkey", version: "0.11.0" });
    expect(oci).not.toHaveProperty("repositoryOpts");
    const local = (await chart({ chart: { from: "path", path: "./charts/valkey" } })).inputs;
    expect(local).toMatchObject({ chart: "./charts/valkey" });
    expect(local).not.toHaveProperty("version");
  });

  it("is as in Valkey on EKS: one primary and three replicas, zones hard, AOF and RDB, gp3", async () => {
    expect(await values(studyServers)).toMatchObject({
      fullnameOverride: "replication",
      replica: {
        enabled: true,
        replicas: 3,
        persistence: { size: "50Gi", storageClass: "gp3" },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
      },
      valkeyConfig: "shutdown-on-sigterm save\n",
      extraSecretValkeyConfigs: true,
      extraVolumes: [
        { name: "extravalkeyconfigs-volume", configMap: { name: "replication-live-config" } },
        {
          name: "secret",
          projected: {
            sources: [
              { secret: { name: "replication-password" } },
              // Where both have a file, the last one's counts.
              { secret: { name: "replication-password-overlap", optional: true } },
            ],
          },
        },
      ],
      topologySpreadConstraints: [
        { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule", maxSkew: 1, minDomains: 3 },
      ],
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100 }] } },
      resources: studyServers.resources,
      podDisruptionBudget: { enabled: true, maxUnavailable: 1 },
    });
  });

  it("gives the chart the settings that restart pods, and the pods a file with those that running servers take", async () => {
    const settings = { ...studyServers.settings, "io-threads": 2 };
    expect(await values({ ...studyServers, settings })).toMatchObject({
      valkeyConfig: "shutdown-on-sigterm save\nio-threads 2\n",
    });
    const resources = await replication({ ...studyServers, settings });
    const { data } = onlyResource(resources, "kubernetes:core/v1:ConfigMap", "replication-live-config").inputs;
    expect(data).toEqual({
      "live.conf":
        "appendonly yes\nappendfsync everysec\nsave 900 1 300 100 60 10000\nmaxmemory 10737418240\n" +
        "include /valkey/secret/password.conf\n",
    });
  });

  it("gives the chart the secret by name, and no password", async () => {
    const resources = await replication();
    expect(onlyResource(resources, "kubernetes:core/v1:Secret").inputs["stringData"]).toEqual({
      password: "a secret",
      "password.conf": 'aclfile /valkey/secret/users.acl\nprimaryauth "a secret"\n',
      "users.acl": `user default on #${passwordHash("a secret")} ~* &* +@all\n`,
    });
    const upstream = onlyResource(resources, "kubernetes:helm.sh/v4:Chart");
    expect(upstream.inputs["values"]).toMatchObject({
      auth: {
        enabled: true,
        usersExistingSecret: "replication-password",
        aclUsers: { default: { permissions: "~* &* +@all", passwordKey: "password" } },
      },
    });
    expect(JSON.stringify(upstream.inputs)).not.toContain("a secret");
    expect(upstream.secrets).toEqual([]);
  });

  it("asks for readiness by replication, and for containers that meet the restricted standard", async () => {
    expect(await values({ metrics: { serviceMonitor: true } })).toMatchObject({
      readinessProbe: {
        enabled: true,
        customProbe: { exec: { command: ["sh", "/valkey/scripts/ready-replication.sh"] } },
      },
      livenessProbe: {
        enabled: true,
        customProbe: { exec: { command: expect.arrayContaining(["valkey-cli", "PING"]) as unknown } },
      },
      extraVolumeMounts: [{ name: "secret", mountPath: "/valkey/secret", readOnly: true }],
      extraValkeyConfigs: [{ name: "replication-scripts", mountPath: "/valkey/scripts" }],
      env: { VALKEY_PASSWORD_FILE: "/valkey/secret/password" },
      serviceAccount: { automount: false },
      podSecurityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      metrics: {
        enabled: true,
        exporter: {
          image: { registry: "ghcr.io", repository: "oliver006/redis_exporter", tag: "v1.79.0" },
          securityContext: { runAsNonRoot: true, capabilities: { drop: ["ALL"] } },
        },
        serviceMonitor: { enabled: true },
      },
    });
    expect(await values()).toMatchObject({ metrics: { enabled: false }, tls: { enabled: false } });
  });

  it("is of the class Guaranteed where its server asks for its limits, with every container of it: only such pods are given whole CPUs", async () => {
    const whole = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1000m", memory: "1024Mi" } };
    const asked = async (changes: Partial<ReplicationServersArgs>): Promise<boolean[]> => {
      const {
        resources,
        initResources,
        extraInitContainers = [],
        metrics,
      } = (await values({
        metrics: { serviceMonitor: false },
        sentinel: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 },
        ...changes,
      })) as {
        resources: Resources;
        initResources: Resources;
        extraInitContainers?: readonly { resources: Resources }[];
        metrics: { exporter: { resources: Resources } };
      };
      return [
        resources,
        initResources,
        ...extraInitContainers.map((each) => each.resources),
        metrics.exporter.resources,
      ].map(isGuaranteed);
    };
    expect(await asked({ resources: whole })).toEqual([true, true, true, true]);
    expect(await asked({})).toEqual([false, false, false, false]);
  });

  it("splits the image as the chart wants it", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    expect(await values({ image: `registry.example:5000/team/valkey:9.1.2@${digest}` })).toMatchObject({
      image: {
        registry: "registry.example:5000",
        repository: "team/valkey",
        tag: `9.1.2@${digest}`,
        pullPolicy: "IfNotPresent",
      },
    });
    await expect(values({ image: "valkey/valkey" })).rejects.toThrow(/image: is "valkey\/valkey"; expected/);
  });

  it("passes TLS, tolerations and the domain on", async () => {
    const toleration = { key: "valkey/servers", operator: "Exists" };
    expect(
      await values({
        tls: { secretName: "certificate" },
        clusterDomain: "corp.example",
        placement: {
          zones: ["a", "b"],
          hostAntiAffinity: "required",
          tolerations: [toleration],
          nodeSelector: { pool: "servers" },
        },
      }),
    ).toMatchObject({
      tls: {
        enabled: true,
        existingSecret: "certificate",
        serverPublicKey: "tls.crt",
        serverKey: "tls.key",
        caPublicKey: "ca.crt",
      },
      env: { VALKEY_TLS_CA: "/tls/ca.crt" },
      clusterDomain: "corp.example",
      tolerations: [toleration],
      nodeSelector: { pool: "servers" },
    });
  });

  it("says where its nodes are, and where to write and read", async () => {
    let made: ReplicationServers | undefined;
    await evaluateProgram(() => {
      made = new ReplicationServers("replication", plain);
    });
    expect(made?.pods).toMatchObject({
      statefulSet: "replication",
      count: 4,
      container: "replication",
      headless: "replication-headless",
      secret: { name: "replication-password", key: "password" },
    });
    expect(await new Promise((resolve) => made?.endpoint.apply(resolve))).toBe(
      "replication.valkey.svc.cluster.local:6379",
    );
    expect(await new Promise((resolve) => made?.readEndpoint.apply(resolve))).toBe(
      "replication-read.valkey.svc.cluster.local:6379",
    );
  });

  it("refuses more zones than nodes", async () => {
    await expect(replication({ replicas: 1 })).rejects.toThrow(
      "replication cannot be placed: zones has 3 for 2 nodes; at most 2",
    );
  });
});
