/** Input that a stack file, `--set` and options must not have, as codes and paths. `problems.txt` has the wording. */
import { describe } from "vitest";
import { benchmarkOverrides } from "../../../cli/running/options";
import type { Problem } from "../../../lib/errors";
import { parseConfig } from "../../../stacks/config/parse";
import { applyOverrides } from "../../../stacks/config/sections/overrides";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { parseStackFile, readStackFile } from "../../../stacks/config/sections/stack-file";
import { testProblems, thrownProblems } from "../../support/problems";

type Raw = Record<string, unknown>;

const MACHINE = { cores: 2, memoryBytes: 16 * 2 ** 30 };
const good = {
  platform: { type: "host", zones: ["a", "b", "c"] },
  deployments: {
    replication: { mode: "replication", replicas: 2 },
    cluster: { mode: "cluster", primaries: 3, settings: { maxmemory: "256mb" } },
  },
  benchmark: { tests: ["set"], clients: 48, threads: 3, keySpace: 98_304, dataSize: 64 },
};
const problems = (input: Raw | (() => unknown)): readonly Problem[] =>
  thrownProblems(typeof input === "function" ? input : () => parseConfig("stack x", input, MACHINE));

const deployment = (changes: Raw): Raw => ({
  ...good,
  deployments: { cluster: { ...good.deployments.cluster, ...changes } },
});
const settings = (changes: Raw): Raw => deployment({ settings: changes });
const benchmark = (changes: Raw): Raw => ({ ...good, benchmark: { ...good.benchmark, ...changes } });
const study = (changes: Raw): Raw => ({ ...benchmark({ threads: 1 }), study: changes });
const workload = (changes: Raw): Raw => ({ ...good, workloads: { w: changes } });
const capacity = (changes: Raw): Raw => ({
  ...good,
  workloads: { w: { loadGenerator: "open-loop", rate: 1, keySpace: 98_304 }, plain: { clients: 51, keySpace: 98_304 } },
  capacity: changes,
});

const eks = (changes: Raw = {}): Raw => ({ type: "eks", ...changes });
const kubernetes: Raw = { type: "kubernetes", zones: ["a", "b", "c"] };
const cluster = (changes: Raw = {}): Raw => ({ mode: "cluster", primaries: 3, ...changes });
const single = (changes: Raw = {}): Raw => ({ mode: "replication", replicas: 0, ...changes });
const on = (platform: Raw, d: Raw): Raw => ({ platform, deployments: { d } });
const watched = (changes: Raw, platform: Raw = good.platform): Raw => ({
  platform,
  deployments: { r: { mode: "replication", replicas: 2, ...changes } },
});
const failing = (failures: Raw): Raw => ({
  platform: { type: "host", zones: ["zone-a", "zone-b"] },
  deployments: { r: { mode: "replication", replicas: 1 }, c: cluster({ settings: { appendonly: true } }) },
  failures,
});
const sharing = (first: string, second: string): Raw => ({
  platform: eks({ backups: {} }),
  deployments: { a: cluster({ backup: { prefix: first } }), b: cluster({ backup: { prefix: second } }) },
});
const option = (values: Raw) => (): unknown => parseConfig("stack x", good, MACHINE, benchmarkOverrides(values));
const mixed = (values: Raw) => option({ loadGenerator: "open-loop", duration: 2, keyspaceLen: 16_384, ...values });
const FILE = { platform: { type: "eks", zones: ["a", "b", "c"] } };
const set = (assignment: string) => (): unknown => applyOverrides(FILE, [assignment]);
const file = (text: string) => (): unknown => parseStackFile("f", text);

describe("bad input", () => {
  testProblems("./problems.txt", problems, [
    ["wrong-value deployments.cluster.users.app.rules", deployment({ users: { app: { rules: "+get >secret ~*" } } })],
    ["wrong-value deployments.cluster.users.default", deployment({ users: { default: { rules: "+get ~*" } } })],
    ["no-users deployments.cluster.users", deployment({ users: { app: { rules: "+get ~*" } } })],
    ["no-services deployments.cluster.external", deployment({ external: { type: "NodePort" } })],
    ["wrong-value deployments.cluster.external.type", deployment({ external: { type: "ClusterIP" } })],
    [
      "ranges-of-node-ports deployments.cluster.external.sourceRanges",
      {
        ...deployment({ external: { type: "NodePort", sourceRanges: ["10.0.0.0/8"] } }),
        platform: { type: "kubernetes", zones: ["a", "b", "c"] },
      },
    ],
    ["unknown-key benchmarks", { ...good, benchmarks: {} }],
    ["unknown-key benchmark.client", benchmark({ client: 3 })],
    ["unknown-key deployments.cluster.primarys", deployment({ primarys: 3 })],
    ["unknown-directive deployments.cluster.settings.io-thread", settings({ "io-thread": 1 })],
    ["unknown-key deployments.r.primaries", { ...good, deployments: { r: { mode: "replication", primaries: 3 } } }],
    ["wrong-value benchmark.clients", benchmark({ clients: "many" })],
    ["wrong-value benchmark.clients", benchmark({ clients: 4.5 })],
    ["wrong-value benchmark.clients", benchmark({ clients: 0 })],
    ["wrong-value deployments.cluster.mode", deployment({ mode: "sharded" })],
    ["missing deployments.x.mode", { ...good, deployments: { x: {} } }],
    ["wrong-value platform.type", { ...good, platform: { type: "moon" } }],
    ["missing platform", { deployments: good.deployments }],
    ["no-deployments deployments", { ...good, deployments: {} }],
    ["wrong-name deployments.My Cluster", { ...good, deployments: { "My Cluster": good.deployments.cluster } }],
    ["wrong-value benchmark.tests", benchmark({ tests: ["set", "sett"] })],
    ["wrong-value deployments.cluster.settings.maxmemory-policy", settings({ "maxmemory-policy": "lru" })],
    ["wrong-value deployments.cluster.settings.maxmemory", settings({ maxmemory: "lots" })],
    ["reserved deployments.cluster.settings.port", settings({ port: 7000 })],
    ["wrong-value deployments.cluster.settings.hz", settings({ hz: "10\nport 1" })],
    ["wrong-value deployments.cluster.primaries", deployment({ primaries: 2 })],
    ["more-threads-than-cores deployments.cluster.settings.io-threads", settings({ "io-threads": 2 })],
    ["memory-exceeds-machine deployments.cluster.settings.maxmemory", settings({ maxmemory: "8gb" })],
    ["uneven-load benchmark.clients", benchmark({ clients: 50 })],
    ["uneven-load benchmark.threads", benchmark({ threads: 4 })],
    ["data-exceeds-maxmemory benchmark.keySpace × valkey:benchmark.dataSize", benchmark({ dataSize: 65_536 })],
    [
      "data-exceeds-machine benchmark.keySpace × valkey:benchmark.dataSize",
      { ...benchmark({ dataSize: 1_000_000 }), deployments: { r: { mode: "replication", replicas: 2 } } },
    ],
    ["more-zones-than-nodes platform.zones", { ...good, deployments: { r: { mode: "replication", replicas: 1 } } }],
    ["one-zone platform.zones", { ...good, platform: { type: "host", zones: ["a"] } }],
    ["zone-twice platform.zones", { ...good, platform: { type: "host", zones: ["a", "b", "a"] } }],
    ["no-writes deployments.cluster.settings.min-replicas-to-write", settings({ "min-replicas-to-write": 2 })],
    ["unknown-directive deployments.cluster.settings.tcp-backlg", settings({ "tcp-backlg": 511 })],
    ["wrong-value deployments.cluster.settings.hz 10\nport", settings({ "hz 10\nport": 1 })],
    ["wrong-value deployments.cluster.settings.other", settings({ other: { hz: 10 } })],
    ["wrong-value workloads.w.loadGenerator", workload({ loadGenerator: "wrk" })],
    ["missing workloads.w.rate", workload({ loadGenerator: "open-loop" })],
    ["missing capacity.objective", capacity({})],
    ["not-an-objective capacity.objective", capacity({ objective: "p99" })],
    ["no-open-loop capacity", { ...good, capacity: { objective: "p99=2ms" } }],
    ["not-open-loop capacity.workload", capacity({ objective: "p99=2ms", workload: "plain" })],
    ["unknown-key workloads.w.arrivals", workload({ arrivals: "fixed" })],
    ["wrong-value workloads.w.reads", workload({ reads: 90 })],
    [
      "wrong-value workloads.w.values.max",
      workload({ loadGenerator: "open-loop", rate: 1, values: { sizes: "uniform", min: 9, max: 3 } }),
    ],
    [
      "wrong-value workloads.w.keys.distribution",
      workload({ loadGenerator: "open-loop", rate: 1, keys: { distribution: "zipf" } }),
    ],
    [
      "no-replica-reads workloads.w.readFrom",
      workload({ reads: 0.5, clients: 51, keySpace: 98_304, readFrom: "replica" }),
    ],
    ["uneven-rate workloads.w.rate", workload({ loadGenerator: "memtier", clients: 51, keySpace: 98_304, rate: 1000 })],
    ["uneven-load workloads.w.clients", workload({ loadGenerator: "open-loop", rate: 1, workers: 5 })],
    [
      "no-replicas workloads.w.readFrom",
      {
        ...workload({ loadGenerator: "open-loop", rate: 1, readFrom: "replica" }),
        deployments: { r: { mode: "replication", replicas: 0 } },
      },
    ],
    ["data-exceeds-maxmemory workloads.w.keySpace", workload({ dataSize: 65_536 })],
    ["unknown-key study.vary.cpu", study({ vary: { cpu: [1] } })],
    ["wrong-value study.vary.primaries.1", study({ vary: { primaries: [1, 2] } })],
    ["wrong-value study.vary.pipeline", study({ vary: { pipeline: [1, 1] } })],
    ["wrong-value study.vary.engine.0", study({ vary: { engine: ["dragonfly"] } })],
    ["one-treatment study", { ...study({}), deployments: { cluster: good.deployments.cluster } }],
    ["uneven-load benchmark.clients", study({ vary: { primaries: [3, 5] } })],
    ["growth-of-several-nodes study.growth", study({ vary: { pipeline: [1, 2] }, growth: { keys: 1_000_000 } })],
    ["wrong-value benchmark.requests", benchmark({ duration: 5, requests: 5 })],
    ["engine-needs-pods deployments.d.engine", on({ type: "host" }, cluster({ engine: "redis" }))],
    ["engine-without-cluster deployments.d.engine", on(kubernetes, cluster({ engine: "dragonfly" }))],
    [
      "setting-of-valkey deployments.d.settings.io-threads",
      on(kubernetes, single({ engine: "dragonfly", pods: { zones: ["a"] }, settings: { "io-threads": 4 } })),
    ],
    ["engine-without-tls platform.tls", on({ ...kubernetes, tls: { secretName: "t" } }, cluster({ engine: "redis" }))],
    ["no-charts deployments.d.chart", on({ type: "host" }, single({ replicas: 2, chart: {} }))],
    [
      "excluded-by-chart deployments.d.chart",
      on({ ...kubernetes, tls: { secretName: "t" } }, single({ replicas: 2, chart: {} })),
    ],
    ["excluded-by-chart deployments.d.chart", on(kubernetes, single({ replicas: 2, sentinel: true, chart: {} }))],
    ["chart-without-replicas deployments.d.replicas", on(kubernetes, single({ pods: { zones: ["a"] }, chart: {} }))],
    [
      "value-of-deployment deployments.d.chart.values.replica.replicas",
      on(kubernetes, single({ replicas: 2, chart: { values: { replica: { replicas: 3 } } } })),
    ],
    ["wrong-value platform.tls", on({ ...kubernetes, tls: {} }, cluster())],
    [
      "no-secrets deployments.d.passwordSecret",
      on({ type: "host", zones: ["a", "b", "c"] }, cluster({ passwordSecret: { name: "login", key: "password" } })),
    ],
    [
      "two-passwords deployments.d.passwordSecret",
      on(kubernetes, cluster({ passwordVersion: 1, passwordSecret: { name: "login", key: "password" } })),
    ],
    ["no-pods deployments.d.controller", on({ type: "host", zones: ["a", "b", "c"] }, cluster({ controller: {} }))],
    ["excluded-by-chart deployments.d.controller", on(kubernetes, single({ replicas: 2, chart: {}, controller: {} }))],
    ["needs-valkey deployments.d.controller", on(kubernetes, single({ replicas: 2, engine: "redis", controller: {} }))],
    ["wrong-value deployments.d.controller.everySeconds", on(kubernetes, cluster({ controller: { everySeconds: 1 } }))],
    [
      "needs-repair deployments.d.controller.replaceLostMachinesAfterSeconds",
      on(kubernetes, cluster({ controller: { repair: false, replaceLostMachinesAfterSeconds: 300 } })),
    ],
    [
      "needs-replicas deployments.d.controller.replaceLostMachinesAfterSeconds",
      on(
        kubernetes,
        cluster({ replicasPerPrimary: 0, controller: { repair: true, replaceLostMachinesAfterSeconds: 300 } }),
      ),
    ],
    [
      "needs-repair deployments.d.controller.repairSettings",
      on(kubernetes, cluster({ controller: { repair: false, repairSettings: true } })),
    ],
    [
      "no-pods deployments.d.backup",
      on({ type: "host", zones: ["a", "b", "c"] }, cluster({ backup: { bucket: "backups", region: "eu-central-1" } })),
    ],
    [
      "excluded-by-chart deployments.d.backup",
      on(kubernetes, single({ replicas: 2, chart: {}, backup: { bucket: "backups", region: "eu-central-1" } })),
    ],
    [
      "wrong-text deployments.d.backup.bucket",
      on(kubernetes, cluster({ backup: { bucket: "My_Bucket", region: "eu-central-1" } })),
    ],
    ["no-bucket deployments.d.backup.bucket", on(kubernetes, cluster({ backup: {} }))],
    ["no-bucket-on-eks deployments.d.backup.bucket", on(eks(), cluster({ backup: {} }))],
    [
      "needs-bucket deployments.d.backup.credentials",
      on(eks({ backups: {} }), cluster({ backup: { credentials: { secretName: "keys" } } })),
    ],
    [
      "bucket-encryption platform.backups.encryption",
      on(eks({ backups: { encryption: "aws:kms:alias/ours" } }), cluster({ backup: {} })),
    ],
    [
      "kept-too-short deployments.d.backup.keepSeconds",
      on(kubernetes, cluster({ backup: { bucket: "backups", region: "eu-central-1", keepSeconds: 3600 } })),
    ],
    [
      "not-a-bucket deployments.d.restoreFrom.from",
      on(kubernetes, cluster({ restoreFrom: { from: "/backups/shop" } })),
    ],
    [
      "no-region deployments.d.restoreFrom.region",
      on(kubernetes, cluster({ restoreFrom: { from: "s3://backups/shop" } })),
    ],
    [
      "other-platform deployments.d.restoreFrom.memory",
      on({ type: "host", zones: ["a", "b", "c"] }, cluster({ restoreFrom: { from: "/backups/shop", memory: "2Gi" } })),
    ],
    [
      "not-a-place deployments.d.restoreFrom",
      on({ type: "host", zones: ["a", "b", "c"] }, cluster({ restoreFrom: { from: "backups/shop" } })),
    ],
    ["no-pods deployments.d.pods", on({ type: "host" }, cluster({ pods: {} }))],
    ["no-pools deployments.d.pods.pool", on(kubernetes, cluster({ pods: { pool: "servers" } }))],
    ["no-pools deployments.d.pods.instanceType", on(kubernetes, cluster({ pods: { instanceType: "r7g.large" } }))],
    [
      "replicas-on-one-machine deployments.d.pods.oneMachine",
      on(eks(), cluster({ pods: { oneMachine: true, zones: ["a", "b"] } })),
    ],
    [
      "one-machine-in-zones deployments.d.pods.oneMachine",
      on(eks(), cluster({ replicasPerPrimary: 0, pods: { oneMachine: true } })),
    ],
    ["unknown-key platform.chart", on({ ...kubernetes, chart: { from: "path", path: "charts/valkey" } }, cluster())],
    ["no-such-zone deployments.d.pods.zones", on(eks(), cluster({ pods: { zones: ["a", "e"] } }))],
    [
      "wrong-value deployments.d.pods.storage.className",
      on(eks(), cluster({ pods: { storage: { className: "io2" } } })),
    ],
    ["type-not-in-pool deployments.d.pods.instanceType", on(eks(), cluster({ pods: { instanceType: "r7g.2xlarge" } }))],
    ["no-such-pool platform.pools.networkOptimized", on(eks(), cluster({ pods: { pool: "networkOptimized" } }))],
    [
      "unknown-type platform.pools.servers.instanceTypes.0",
      on(eks({ pools: { servers: { instanceTypes: ["r7g.huge"] } } }), cluster()),
    ],
    ["network-too-small platform.network.cidr", on(eks({ network: { cidr: "10.0.0.0/24" } }), cluster())],
    [
      "memory-exceeds-pod deployments.d.settings.maxmemory",
      on(
        eks(),
        cluster({
          settings: { maxmemory: "10gb" },
          pods: { resources: { requests: { cpu: "1", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } } },
        }),
      ),
    ],
    ["uneven-zones platform.zones", on({ ...kubernetes, zones: ["a", "b"] }, cluster({ replicasPerPrimary: 3 }))],
    [
      "uneven-zones deployments.d.pods.zones",
      on(eks(), cluster({ replicasPerPrimary: 3, pods: { zones: ["a", "b"] } })),
    ],
    [
      "more-threads-than-cores deployments.d.settings.io-threads",
      on(
        eks(),
        cluster({
          settings: { "io-threads": 2 },
          pods: { resources: { requests: { cpu: "2", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } } },
        }),
      ),
    ],
    [
      "more-threads-than-cores deployments.d.settings.io-threads",
      on(eks(), cluster({ settings: { "io-threads": 2 } })),
    ],
    ["unknown-key platform.cluter", on(eks({ cluter: {} }), cluster())],
    ["wrong-value platform.region", on(eks({ region: "oregon" }), cluster())],
    ["wrong-value platform.region", on(eks({ region: "cn-north-1" }), cluster())],
    ["wrong-value platform.network.nat", on(eks({ network: { nat: "none" } }), cluster())],
    ["unknown-key platform.network.cidrr", on(eks({ network: { cidrr: "10.0.0.0/16" } }), cluster())],
    ["wrong-value platform.network.cidr", on(eks({ network: { cidr: "10.0.0.0/40" } }), cluster())],
    [
      "missing platform.network.privateSubnetIds",
      on(eks({ network: { kind: "existing", vpcId: "vpc-0123456789abcdef0" } }), cluster()),
    ],
    [
      "wrong-value platform.network.vpcId",
      on(
        eks({ network: { kind: "existing", vpcId: "main", privateSubnetIds: ["subnet-01234567", "subnet-11234567"] } }),
        cluster(),
      ),
    ],
    ["wrong-value platform.zones", on(eks({ zones: ["a"] }), cluster())],
    ["zone-twice platform.zones", on(eks({ zones: ["a", "a"] }), cluster())],
    [
      "open-access platform.cluster.publicAccessCidrs",
      on(eks({ cluster: { publicAccessCidrs: ["0.0.0.0/0"] } }), cluster()),
    ],
    [
      "open-access platform.cluster.publicAccessCidrs",
      on(eks({ cluster: { publicAccessCidrs: ["0.0.0.0/1", "128.0.0.0/1"] } }), cluster()),
    ],
    [
      "wrong-value platform.cluster.publicAccessCidrs.0",
      on(eks({ cluster: { publicAccessCidrs: ["home"] } }), cluster()),
    ],
    ["wrong-value platform.cluster.keyArn", on(eks({ cluster: { keyArn: "alias/x" } }), cluster())],
    [
      "wrong-value platform.pools.servers.instanceTypes.0",
      on(eks({ pools: { servers: { instanceTypes: ["large"] } } }), cluster()),
    ],
    [
      "wrong-value platform.pools.servers.instanceTypes",
      on(eks({ pools: { servers: { instanceTypes: [] } } }), cluster()),
    ],
    ["wrong-value platform.pools.servers.capacity", on(eks({ pools: { servers: { capacity: "spot" } } }), cluster())],
    [
      "wrong-value platform.pools.networkOptimized.capacity",
      on(eks({ pools: { networkOptimized: { capacity: "spot" } } }), cluster()),
    ],
    [
      "wrong-value platform.pools.clients.capacity",
      on(eks({ pools: { clients: { capacity: "reserved" } } }), cluster()),
    ],
    ["unknown-key platform.pools.server", on(eks({ pools: { server: {} } }), cluster())],
    ["wrong-value platform.system.machines", on(eks({ system: { machines: 1 } }), cluster())],
    ["wrong-value platform.clusterName", on(eks({ clusterName: "x".repeat(39) }), cluster())],
    [
      "too-few-subnets platform.network.privateSubnetIds",
      on(
        eks({
          network: {
            kind: "existing",
            vpcId: "vpc-01234567",
            privateSubnetIds: ["subnet-01234567", "subnet-11234567"],
          },
        }),
        cluster(),
      ),
    ],
    ["wrong-value platform.network.cidr", on(eks({ network: { cidr: "10.0.0.0/8" } }), cluster())],
    ["wrong-value platform.storage.className", on(eks({ storage: { className: "io2" } }), cluster())],
    ["no-such-zone platform.clients.zone", on(eks({ clients: { zone: "f" } }), cluster())],
    ["wrong-value platform.cluster.logRetentionInDays", on(eks({ cluster: { logRetentionInDays: 8 } }), cluster())],
    [
      "too-few-zones deployments.r.sentinel",
      watched({ sentinel: {}, replicas: 1 }, { type: "host", zones: ["a", "b"] }),
    ],
    [
      "too-few-zones deployments.r.sentinel",
      watched(
        { sentinel: {}, replicas: 1, pods: { zones: ["a", "b"] } },
        { type: "kubernetes", zones: ["a", "b", "c"] },
      ),
    ],
    [
      "too-few-zones deployments.r.sentinel",
      watched({ sentinel: true, replicas: 1 }, { type: "host", zones: ["a", "b"] }),
    ],
    ["wrong-value deployments.r.sentinel", watched({ sentinel: "yes" })],
    ["unknown-key deployments.r.sentinel.quorums", watched({ sentinel: { quorums: 2 } })],
    ["wrong-value deployments.r.sentinel.count", watched({ sentinel: { count: 4 } })],
    ["wrong-quorum deployments.r.sentinel.quorum", watched({ sentinel: { quorum: 5 } })],
    ["no-replicas deployments.r.sentinel", watched({ sentinel: {}, replicas: 0 }, { type: "host", zones: ["a"] })],
    ["wrong-value failures.x.fault", failing({ x: { fault: "kill-primry" } })],
    ["unknown-key failures.x.restrat", failing({ x: { fault: "kill-primary", restrat: 1 } })],
    ["no-such-deployment failures.x.deployments.0", failing({ x: { fault: "kill-primary", deployments: ["q"] } })],
    ["no-such-zone failures.x.zone", failing({ x: { fault: "cut-zone", zone: "q" } })],
    ["too-few-replicas failures.x", failing({ x: { fault: "kill-primary", waitFor: 2, deployments: ["c"] } })],
    [
      "unknown-key failures.x.settings.maxmemory",
      failing({ x: { fault: "kill-primary", settings: { maxmemory: 1 } } }),
    ],
    ["overlapping-prefix deployments.b.backup.prefix", sharing("x", "x")],
    ["overlapping-prefix deployments.b.backup.prefix", sharing("x", "x/y")],
    ["overlapping-prefix deployments.b.backup.prefix", sharing("x/y", "x")],
    ["uneven-load benchmark.clients", { ...on(eks(), cluster()), benchmark: { clients: 50, threads: 4 } }],
    ["uneven-load benchmark.threads", { ...on(eks(), cluster()), benchmark: { clients: 50, threads: 4 } }],
    ["no-such-zone failures.x.zone", { ...on(eks(), cluster()), failures: { x: { fault: "cut-zone", zone: "b" } } }],
    ["uneven-load --clients", option({ clients: 50 })],
    ["wrong-value --datasize", option({ datasize: "big" })],
    ["wrong-value --reads", mixed({ rate: 500, reads: 3, clients: 50 })],
    ["missing --rate", mixed({})],
    ["wrong-value --load-generator", mixed({ loadGenerator: "wrk" })],
    ["not-an-assignment --set primaries", set("primaries")],
    ["not-an-assignment --set =3", set("=3")],
    ["not-an-assignment --set deployments..d=3", set("deployments..d=3")],
    ["not-yaml --set deployments.d.primaries=[", set("deployments.d.primaries=[")],
    ["not-an-index --set platform.zones", set("platform.zones.x=a")],
    ["not-an-index --set platform.zones", set("platform.zones.9=a")],
    ["not-a-map --set platform.type", set("platform.type.x=1")],
    ["not-yaml", file("config: [")],
    ["no-config", file("a: 1")],
    ["no-namespace platform", file("config: {platform: 1}")],
    ["misspelt-namespace valky:platform", file("config: {'valky:platform': 1}")],
    ["no-such-stack", () => readStackFile(STACKS_DIRECTORY, "locl")],
  ]);
});
