/**
 * Changes of a deployment by a change of its arguments: by path in `tests/rendered/changes.yaml`, and in words whether the
 * pods of its servers and Sentinels restart.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ClusterServers } from "../../components/kubernetes/servers/cluster-servers";
import { type ValkeyClusterArgs, ValkeyCluster } from "../../components/valkey-cluster";
import { type ValkeyReplicationArgs, ValkeyReplication } from "../../components/valkey-replication";
import { ROOT } from "../../lib/system/package";
import { plainServers } from "../support/kubernetes/server-args";
import { evaluateProgram } from "../support/pulumi/pulumi-mocks";
import { CLUSTER, REPLICATION } from "../support/pulumi/rendered-programs";
import { changedPaths, plainResources, renderedYaml } from "../support/pulumi/rendered-yaml";

type Resources = ReturnType<typeof plainResources>;
type Effect = "restarts" | "keeps";
/** Whether pods restart, and the arguments before and after the change; those before are the base's own by default. */
type Row = readonly [what: string, effect: Effect, after: object, before?: object];

const common = { controller: false, password: "a-password-that-is-chosen" };
const backup = { bucket: "backups", endpoint: "http://10.244.0.1:4568", credentials: { secretName: "minio" } };
const block = { ipBlock: { cidr: "10.0.0.0/16" } };
const whole = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1000m", memory: "1024Mi" } };
const digest = `docker.io/valkey/valkey:9.1.2@sha256:${"0".repeat(64)}`;

/** Changes of all three kinds of deployments. */
const EACH: readonly Row[] = [
  ["a new password", "keeps", { password: "a-password-that-is-new" }],
  ["a setting that running servers take", "keeps", { settings: { maxmemory: 2 ** 28 } }],
  ["a setting that they do not take", "restarts", { settings: { "io-threads": 2 } }],
  ["an image that knows no zone directive", "restarts", { image: "docker.io/valkey/valkey:8.0.1" }],
  ["a certificate", "restarts", { tls: { secretName: "certificate" } }],
  ["an exporter", "restarts", { metrics: {} }],
];
const CLUSTERS: readonly Row[] = [
  ["more primaries", "keeps", { shape: { primaries: 5, replicasPerPrimary: 1 } }],
  ["clients outside", "keeps", { external: { type: "NodePort" } }],
  ["an image with a digest", "restarts", { image: digest }],
  ["images that machines have", "restarts", { imagePullPolicy: "IfNotPresent" }],
  ["whole CPUs, with an exporter", "restarts", { resources: whole, metrics: {} }, { metrics: {} }],
  [
    "another exporter and a ServiceMonitor",
    "restarts",
    { metrics: { image: "r.example/exporter:1", serviceMonitor: true } },
    { metrics: {} },
  ],
  ["volumes that stay", "keeps", { storage: { className: "gp3", size: "2048Mi", onDestroy: "keep" } }],
  ["no volumes", "restarts", { storage: { ephemeral: true } }],
  [
    "machines that no two share, in two zones",
    "restarts",
    { placement: { hostAntiAffinity: "required" }, zones: ["a", "b"] },
  ],
  ["machines that two may share", "restarts", { placement: { hostAntiAffinity: "none" } }],
  ["machines of its own", "restarts", { placement: { ownMachines: true } }],
  ["another domain", "restarts", { clusterDomain: "corp.example" }],
  [
    "another default for clients and monitoring",
    "keeps",
    { access: { clients: [block], monitoring: [block] }, metrics: {} },
    { metrics: {} },
  ],
  ["a user", "keeps", { users: { reports: { rules: "+@read ~app:*", password: "a-password-of-a-user" } } }],
  [
    "downtime that is allowed, another time limit, another verification",
    "keeps",
    { allowDowntime: true, timeoutSeconds: 900, trigger: 1, passwordOverlapSeconds: 300 },
  ],
  ["a controller", "keeps", { controller: true }],
  ["a controller that repairs settings", "keeps", { controller: { repairSettings: true } }, { controller: true }],
  ["a controller that only looks", "keeps", { controller: { repair: false } }, { controller: true }],
  [
    "a controller that lets replicas take over",
    "keeps",
    { controller: { onLostMajority: "takeover" }, settings: { appendonly: true } },
    { controller: true, settings: { appendonly: true } },
  ],
  ["a backup", "keeps", { backup }],
  [
    "a backup to another bucket, more often",
    "keeps",
    { backup: { ...backup, bucket: "others", baseEverySeconds: 600 } },
    { backup },
  ],
  [
    "a backup with a role in a region",
    "keeps",
    { backup: { bucket: "backups", region: "eu-central-1", role: "arn:aws:iam::123456789012:role/backup" } },
    { backup },
  ],
  [
    "drills with memory of their own",
    "keeps",
    { backup: { ...backup, drill: "daily", drillMemory: "5Gi" } },
    { backup: { ...backup, drill: "weekly" } },
  ],
];
const REPLICATIONS: readonly Row[] = [
  ["more replicas", "keeps", { replicas: 5 }],
  ["clients outside", "keeps", { external: { type: "NodePort" } }],
];
const SENTINELS: readonly Row[] = [
  ["more Sentinels", "restarts", { sentinel: { count: 5 } }],
  ["peers by their block", "keeps", { access: { nodes: [block], clients: [block] } }],
  ["pull secrets", "restarts", { imagePullSecrets: ["registry", "mirror"] }],
  ["two zones, which are too few for Sentinels", "restarts", { sentinel: undefined, zones: ["a", "b"] }],
];

const cluster = (args: object): Promise<Resources> =>
  rendered(() => new ValkeyCluster("orders", { ...CLUSTER, ...common, ...(args as Partial<ValkeyClusterArgs>) }));
const replication =
  (sentinel: true | undefined) =>
  (args: object): Promise<Resources> =>
    rendered(() => {
      const own = { sentinel: sentinel ?? false, ...(args as Partial<ValkeyReplicationArgs>) };
      return new ValkeyReplication("sessions", { ...REPLICATION, ...common, ...own });
    });
const rendered = async (program: () => unknown): Promise<Resources> => plainResources(await evaluateProgram(program));

const KINDS: readonly [string, (args: object) => Promise<Resources>, readonly Row[]][] = [
  ["cluster", cluster, [...EACH, ...CLUSTERS]],
  ["replication", replication(undefined), [...EACH, ...REPLICATIONS]],
  ["replication with Sentinels", replication(true), [...EACH, ...REPLICATIONS, ...SENTINELS]],
];

interface Workload {
  readonly inputs: { readonly spec: { readonly template: unknown } };
}

/** Pod templates of servers and Sentinels, whose change restarts pods. */
const templates = (resources: Resources): unknown[] =>
  [...resources].flatMap(([key, value]) =>
    key.startsWith("kubernetes:apps/v1:StatefulSet") ? [(value as unknown as Workload).inputs.spec.template] : [],
  );
/** Digest by which the roll-out knows that pods are of another template. */
const revisionOf = (resources: Resources): unknown =>
  [...resources].flatMap(([key, value]) =>
    key.startsWith("valkey:index:Rollout") ? [(value as { inputs: { revision: unknown } }).inputs.revision] : [],
  )[0];

describe("a change of a deployment", { timeout: 180_000 }, () => {
  const found = new Map<string, ReturnType<typeof changedPaths>>();

  describe.each(KINDS)("%s", (kind, make, rows) => {
    const complete = rows.map(([what, effect, after, before = {}]) => [what, effect, after, before] as const);
    it.each(complete)("%s: %s pods", async (what, effect, after, before) => {
      const [old, changed] = [await make(before), await make({ ...before, ...after })];
      found.set(`${kind}, ${what}`, changedPaths(old, changed));
      expect(templates(old)).not.toEqual([]);
      if (effect === "keeps") expect(templates(changed)).toEqual(templates(old));
      else expect(templates(changed)).not.toEqual(templates(old));
      expect(revisionOf(old)).toMatch(/^[0-9a-f]{32}$/);
      if (JSON.stringify(templates(old)[0]) === JSON.stringify(templates(changed)[0]))
        expect(revisionOf(changed)).toBe(revisionOf(old));
      else expect(revisionOf(changed)).not.toBe(revisionOf(old));
    });
  });

  it("changes these objects, at these paths", async () => {
    expect(found.size).toBe(KINDS.reduce((sum, [, , rows]) => sum + rows.length, 0));
    const title = "What each change of arguments changes in a deployment: path, old value → new value.";
    await expect(renderedYaml(title, found)).toMatchFileSnapshot(join(ROOT, "tests", "rendered", "changes.yaml"));
  });

  it("of Redis restarts pods also for maxmemory", async () => {
    const checksumOf = async (maxmemory: number): Promise<unknown> => {
      const shape = { primaries: 3, replicasPerPrimary: 1 };
      return templates(
        await rendered(
          () => new ClusterServers("cluster", { ...plainServers, shape, engine: "redis", settings: { maxmemory } }),
        ),
      );
    };
    expect(await checksumOf(1)).not.toEqual(await checksumOf(2));
  });
});
