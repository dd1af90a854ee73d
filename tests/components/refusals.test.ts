/** Arguments that components refuse before anything is declared: every problem, with its path, in `tests/rendered/refusals.yaml`. */
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { BenchmarkJob } from "../../components/benchmark-job";
import { type EngineDeploymentArgs, EngineDeployment } from "../../components/engine-deployment";
import type { ControllerArgs } from "../../components/kubernetes/arguments";
import { backupProblems } from "../../components/kubernetes/archive/backup-problems";
import type { BackupArgs } from "../../components/kubernetes/backup-arguments";
import { controllerProblems } from "../../components/kubernetes/controller/controller-problems";
import { type PlainArguments, argumentProblems } from "../../components/kubernetes/deployment/argument-problems";
import { DEFAULT_RESOURCES } from "../../components/kubernetes/deployment/deployment-args";
import { objectNames } from "../../components/kubernetes/names";
import { type LoadCapacityArgs, LoadCapacity } from "../../components/load-capacity";
import { type UpstreamChartArgs, UpstreamChart } from "../../components/upstream-chart";
import { type ValkeyClusterArgs, ValkeyCluster } from "../../components/valkey-cluster";
import { type ValkeyReplicationArgs, ValkeyReplication } from "../../components/valkey-replication";
import { BadInput, problemText } from "../../lib/errors";
import { ROOT } from "../../lib/system/package";
import { declare, platformArgs, VALKEY_ON_EKS_PLAN } from "../support/pulumi/eks";
import { evaluateProgram } from "../support/pulumi/pulumi-mocks";
import { CLUSTER, REPLICATION } from "../support/pulumi/rendered-programs";
import { renderedYaml } from "../support/pulumi/rendered-yaml";

const backup: BackupArgs = { bucket: "backups", endpoint: "https://minio:9000", credentials: { secretName: "minio" } };
const role = "arn:aws:iam::123456789012:role/backup";
const longest = "a".repeat(52);

/** Arguments that no type checker has seen. */
const CLUSTERS: Readonly<Record<string, object>> = {
  "one zone": { zones: ["a"] },
  "zones that cannot separate replicas from primaries": {
    shape: { primaries: 3, replicasPerPrimary: 3 },
    zones: ["a", "b"],
  },
  "two sources of a certificate": { tls: {} },
  "plain arguments of wrong forms": {
    ...{
      namespace: "Bad NS",
      timeoutSeconds: -1,
      passwordOverlapSeconds: 5,
      onSilentReplica: 0,
      imagePullPolicy: "Sometimes",
    },
    storage: { size: "8 gigs", className: "Fast Disks", onDestroy: "burn" },
    resources: { requests: { cpu: "many" }, limits: { cpu: -1, memory: "1 gigabyte" } },
    ...{ placement: { hostAntiAffinity: "yes" }, settings: { "io-threads": 0 }, controller: { everySeconds: 1 } },
  },
  "an infinite quantity": {
    resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1", memory: "1e400" } },
  },
  "objects that are texts": {
    ...{ storage: "8Gi", placement: "one machine", access: "all", metrics: "yes", resources: "1Gi", tuning: "fast" },
    ...{ backup: "backups", restoreFrom: "backups", passwordSecret: "login", controller: "on", trigger: "x" },
  },
  "unknown arguments": {
    ...{ replics: 1, sentinel: {}, storage: { sizze: "8Gi" }, placement: { onMachine: true }, metrics: { port: 1 } },
  },
  "no zones, no shape": { zones: undefined, shape: undefined },
  "zones that are a text": { zones: "a, b" },
  "memory in which no data fits": {
    resources: { requests: { cpu: "1", memory: "64Mi" }, limits: { cpu: "1", memory: "64Mi" } },
  },
  "two sources of a password": {
    passwordSecret: { name: "login", key: "x" },
    password: "0123456789abcdef",
    passwordVersion: 1,
  },
  "settings that a stack file refuses": {
    settings: { aclfile: "/x", "tcp-backlg": 1, "io-threads": 0, hz: "10\nport 1" },
  },
  "more memory than the limit carries": { settings: { maxmemory: 2 ** 30 } },
  "source ranges of node ports": {
    external: { type: "NodePort", sourceRanges: ["10.0.0.0/8", "fd00::/8", "10.0.0", "10.0.0.0/33"] },
  },
  "a controller that looks too often": { controller: { everySeconds: 1 } },
  "a controller that repairs only settings": { controller: { repair: false, repairSettings: true } },
  "a takeover without repairs": { controller: { onLostMajority: "takeover", repair: false } },
  "a takeover without data": { controller: { onLostMajority: "takeover" }, settings: { save: "" } },
  "pods replaced too early": { controller: { replaceLostMachinesAfterSeconds: 59 } },
  "pods replaced at once": { controller: { replaceLostMachinesAfterSeconds: 0 } },
  "pods replaced without repairs": { controller: { replaceLostMachinesAfterSeconds: 300, repair: false } },
  "a backup with everything wrong": {
    backup: {
      ...{ bucket: "My_Bucket", prefix: "/shop/", endpoint: "ftp://x", role: "backup", encryption: "yes" },
      ...{ baseEverySeconds: 5, keepSeconds: 4000.5, spoolSize: "1Mi", credentials: { accessKeyId: "key" } },
    },
  },
  "a backup without a region": { backup: { bucket: "backups" } },
  "an endpoint with a password": { backup: { ...backup, endpoint: "https://me:secret@s3.example.com" } },
  "a backup that is kept for less than a base": {
    backup: { ...backup, baseEverySeconds: 90_000, keepSeconds: 86_400 },
  },
  "two sources of access": { backup: { ...backup, role } },
  "no keys": { backup: { ...backup, credentials: {} } },
  "an unknown interval of drills": { backup: { ...backup, drill: "hourly" } },
  "memory without drills": { backup: { ...backup, drillMemory: "4Gi" } },
  "too little memory for drills": { backup: { ...backup, drill: "daily", drillMemory: "1Mi" } },
  "a restore with everything wrong": {
    restoreFrom: {
      ...{ bucket: "My_Bucket", region: "eu-central-1", at: "yesterday", keys: [""], memory: "1Mi", timeoutSeconds: 5 },
      ttl: "later",
    },
  },
  "a restore without a bucket": { restoreFrom: {} },
};
const REPLICATIONS: Readonly<Record<string, object>> = {
  "more zones than nodes": { replicas: 1 },
  "an even number of Sentinels": { sentinel: { count: 4 } },
  "too many Sentinels": { sentinel: { count: 11 } },
  "a quorum of more than there are": { sentinel: { quorum: 5 } },
  "Sentinels without a replica": { sentinel: {}, replicas: 0, zones: ["a"] },
  "Sentinels in two zones": { sentinel: {}, zones: ["a", "b"] },
  "no replicas, no zones": { replicas: undefined, zones: undefined },
  "no lag": { maxLagSeconds: 0 },
  "a lag of no whole number": { maxLagSeconds: 1.5 },
  "a lag above an hour": { maxLagSeconds: 3601 },
};
const ENGINES: Readonly<Record<string, object>> = {
  "Dragonfly as a cluster": { engine: "dragonfly", settings: {} },
  "an engine's image without a tag": { image: "redis" },
  "an engine of wrong forms": { zones: [7], namespace: "", resources: { requests: {} } },
  "settings that the deployment decides": { settings: { port: 1 } },
};
const elsewhere = { name: "elsewhere", mode: "replication", nodes: [{ host: "10.0.0.1" }] } as const;
const BENCHMARKS: Readonly<Record<string, object>> = {
  "a benchmark with everything wrong": {
    targets: [{}],
    tests: ["nope"],
    clients: 0,
    externalTargets: [
      { name: "A b", mode: "x", nodes: [{ port: 70_000 }], tls: { caCertificate: 5 } },
      { ...elsewhere, nodes: [] },
    ],
    loadGenerators: { runners: 0, nodSelector: {} },
    workloads: { closed: { rate: 5, arrivals: "poisson" }, open: { loadGenerator: "open-loop" } },
    capacity: { objective: "p99" },
    ...{ duration: 1, requests: 5 },
  },
  "nothing to measure": {},
  "one name twice": { externalTargets: [elsewhere, elsewhere] },
  "a search without an open loop": { externalTargets: [elsewhere], capacity: { objective: "p99=2ms" } },
};
const CHART = {
  ...{ replicas: 0, version: ">0", source: "charts/valkey" },
  values: { auth: {}, tls: {}, fullnameOverride: "x", replica: { enabled: false } },
};
const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const PLATFORMS: Readonly<Record<string, object>> = {
  "an API server open to the world": { publicAccess: { cidrs: ["198.51.100.0/24", "0.0.0.0/0"] } },
  "an API server open in two halves": { publicAccess: { cidrs: ["0.0.0.0/1", "128.0.0.0/1"] } },
  "a bucket with everything wrong": {
    backups: {
      ...{ bucketName: "Wrong", existingBucket: "theirs", encryption: "aws:kms:alias/ours", keepDeletedDays: 0 },
      onDestroy: "delete",
    },
  },
  "a key of another region": { backups: { encryption: `aws:kms:${key}` } },
  "a platform with everything wrong": {
    ...{ region: "us-west-2", zones: ["us-west-2a"], network: {}, groups: [] },
    existingNetwork: { vpcId: "vpc-1", privateSubnetIds: [] },
    pools: { servers: { instanceTypes: ["r7gn.large"] }, networkOptimized: { capacity: "spot", vcpuLimit: 8 } },
    publicAccess: { cidrs: ["0.0.0.0/0"] },
  },
};

const cluster = (args: object, name = "orders"): unknown =>
  new ValkeyCluster(name, { ...CLUSTER, ...(args as Partial<ValkeyClusterArgs>) });
const replication = (args: object, name = "sessions"): unknown =>
  new ValkeyReplication(name, { ...REPLICATION, ...(args as Partial<ValkeyReplicationArgs>) });
const engine = (args: object): unknown => {
  const redis = {
    engine: "redis",
    image: "docker.io/library/redis:8.2.1",
    mode: "cluster",
    settings: { save: "" },
  } as const;
  const own = { ...redis, shape: CLUSTER.shape, zones: CLUSTER.zones, ...(args as Partial<EngineDeploymentArgs>) };
  return new EngineDeployment("other", own);
};
const platform = async (args: object): Promise<unknown> => {
  const { EksPlatform } = await import("../../components/eks/platform.js");
  return new EksPlatform("valkey", platformArgs(VALKEY_ON_EKS_PLAN, args));
};
const pools = async (): Promise<unknown> => {
  const { KarpenterPools } = await import("../../components/eks/karpenter/karpenter-pools.js");
  const wrong = { servers: { instanceTypes: ["r7g.large", "r7i.large"] }, clients: {} };
  return new KarpenterPools("mine", {
    clusterName: "production",
    nodeRole: "node",
    zones: ["us-west-2a"],
    pools: wrong,
  });
};

type Case = readonly [what: string, declared: () => unknown];
const casesOf = (table: Readonly<Record<string, object>>, make: (args: object) => unknown): Case[] =>
  Object.entries(table).map(([what, args]): Case => [what, () => make(args)]);
const IMAGES = ["valkey:latest", "valkey@sha256:0", "", "a b:1", "registry.example:5000/valkey"];
const CASES: readonly Case[] = [
  ...["", "1", "Shop", "shop-", "a_b", "a".repeat(53)].map((name): Case => [
    `the name ${JSON.stringify(name)}`,
    () => objectNames(name),
  ]),
  ...IMAGES.map((image): Case => [`the image ${JSON.stringify(image)}`, () => cluster({ image })]),
  ...casesOf(CLUSTERS, cluster),
  ["a CronJob's name that is too long", () => cluster({ backup: { ...backup, drill: "weekly" } }, "a".repeat(47))],
  ["a Service's name that is too long", () => replication({ replicas: 2, external: { type: "NodePort" } }, longest)],
  ...casesOf(REPLICATIONS, replication),
  ...casesOf(ENGINES, engine),
  ...[ValkeyCluster, ValkeyReplication, UpstreamChart, EngineDeployment, BenchmarkJob, LoadCapacity].map(
    (Component): Case => [
      `a ${Component.name} without arguments`,
      (): unknown => Reflect.construct(Component, ["orders"]),
    ],
  ),
  [
    "a chart with everything wrong",
    () =>
      new UpstreamChart("orders", {
        ...REPLICATION,
        image: "r/valkey:1",
        resources: { requests: {}, limits: {} },
        ...CHART,
      } as unknown as UpstreamChartArgs),
  ],
  ...casesOf(BENCHMARKS, (args) => new BenchmarkJob("compare", args)),
  [
    "a search with a rate and without an objective",
    () => new LoadCapacity("limit", { workload: { rate: 3 }, precision: 7 } as unknown as LoadCapacityArgs),
  ],
  ...casesOf(PLATFORMS, platform),
  ["pools of two architectures without limits", pools],
];

describe("arguments that are refused", { timeout: 120_000 }, () => {
  const found = new Map<string, readonly string[]>();

  it.each(CASES)("%s", async (what, declared) => {
    let declaredResources = 0;
    const program = /platform|pools|API server|bucket|key of/.test(what) ? declare : evaluateProgram;
    const error = await program(() => {
      declaredResources++;
      return declared() as never;
    }).catch((thrown: unknown) => thrown);
    expect(declaredResources).toBe(1);
    expect(error).toBeInstanceOf(BadInput);
    const { subject, problems } = error as BadInput;
    expect(problems.length).toBeGreaterThan(0);
    found.set(what, [subject, ...problems.map(problemText)]);
  });

  it("are told these problems", async () => {
    expect([...found.keys()].sort()).toEqual(CASES.map(([what]) => what).sort());
    const text = renderedYaml("What each refused argument is told: the subject, then every problem.", found);
    await expect(text).toMatchFileSnapshot(join(ROOT, "tests", "rendered", "refusals.yaml"));
  });

  it("are only those: a limit that is just met is taken", async () => {
    const made = [
      (): unknown => cluster({ external: { type: "NodePort" } }, longest),
      (): unknown => cluster({ settings: { maxmemory: 2 ** 30 }, oversubscribed: true }),
      (): unknown => cluster({ backup: { ...backup, drill: "daily", drillMemory: "64Mi" } }, "a".repeat(46)),
    ];
    for (const each of made) expect((await evaluateProgram(each)).length).toBeGreaterThan(20);
    const problemsOf = (args: object & Pick<PlainArguments, "image" | "resources">): unknown =>
      argumentProblems({ ...CLUSTER, ...args }, CLUSTER.shape, ["shape"]);
    const images = [
      "valkey:9.1.2",
      "valkey/valkey:9.1.2-alpine",
      "localhost/valkey:1",
      "registry.example:5000/team/valkey:1",
    ];
    for (const image of [...images, `valkey:9.1.2@sha256:${"0".repeat(64)}`])
      expect(problemsOf({ image, resources: DEFAULT_RESOURCES })).toEqual([]);
    const known = { size: pulumi.output("x"), className: Promise.resolve("y") };
    const inputs = { namespace: pulumi.output("z"), storage: known, image: "valkey:1", resources: DEFAULT_RESOURCES };
    expect(problemsOf(inputs)).toEqual([]);
    const encryption = "aws:kms:alias/backup";
    expect(backupProblems({ bucket: pulumi.output("x"), region: pulumi.output("y"), encryption })).toEqual([]);
    const bare = { mode: "cluster" as const, replicasPerPrimary: 0, keepsData: true };
    expect(controllerProblems({ repair: false }, bare)).toEqual([]);
    const consent: ControllerArgs = { replaceLostMachinesAfterSeconds: 300 };
    expect(controllerProblems(consent, bare)).toMatchObject([{ path: "replaceLostMachinesAfterSeconds" }]);
  });
});
