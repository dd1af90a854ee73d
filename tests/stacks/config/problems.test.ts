/** Input that a stack file, `--set` and options must not have, as codes and paths. `problems.txt` has the wording. */
import { describe } from "vitest";
import { benchmarkOverrides } from "../../../cli/running/options";
import type { Problem } from "../../../lib/errors";
import { parseConfig } from "../../../stacks/config/parse";
import { applyOverrides } from "../../../stacks/config/sections/overrides";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { parseStackFile, readStackFile } from "../../../stacks/config/sections/stack-file";
import { testProblems, thrownProblems } from "../../support/problems";
import { MACHINE, SMALL_STACK } from "../../support/stack-config";

type Raw = Record<string, unknown>;

const problems = (input: Raw | (() => unknown)): readonly Problem[] =>
  thrownProblems(typeof input === "function" ? input : () => parseConfig("stack x", input, MACHINE));

const deployment = (changes: Raw): Raw => ({
  ...SMALL_STACK,
  deployments: { cluster: { ...SMALL_STACK.deployments.cluster, ...changes } },
});
const settings = (changes: Raw): Raw => deployment({ settings: changes });
const benchmark = (changes: Raw): Raw => ({ ...SMALL_STACK, benchmark: { ...SMALL_STACK.benchmark, ...changes } });
const study = (changes: Raw): Raw => ({ ...benchmark({ threads: 1 }), study: changes });
const workload = (changes: Raw): Raw => ({ ...SMALL_STACK, workloads: { w: changes } });
const capacity = (changes: Raw): Raw => ({
  ...SMALL_STACK,
  workloads: { w: { loadGenerator: "open-loop", rate: 1, keySpace: 98_304 }, plain: { clients: 51, keySpace: 98_304 } },
  capacity: changes,
});

const eks = (changes: Raw = {}): Raw => ({ type: "eks", ...changes });
const kubernetes: Raw = { type: "kubernetes", zones: ["a", "b", "c"] };
const cluster = (changes: Raw = {}): Raw => ({ mode: "cluster", primaries: 3, ...changes });
const single = (changes: Raw = {}): Raw => ({ mode: "replication", replicas: 0, ...changes });
const on = (platform: Raw, d: Raw): Raw => ({ platform, deployments: { d } });
const onEks = (changes: Raw): Raw => on(eks(changes), cluster());
const eksCluster = (changes: Raw = {}): Raw => on(eks(), cluster(changes));
const podCluster = (changes: Raw): Raw => on(kubernetes, cluster(changes));
const podSingle = (changes: Raw): Raw => on(kubernetes, single(changes));
const hostCluster = (changes: Raw): Raw => on({ type: "host", zones: ["a", "b", "c"] }, cluster(changes));
const watched = (changes: Raw, platform: Raw = SMALL_STACK.platform): Raw => ({
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
const SECRET = { name: "login", key: "password" };
const BUCKET = { bucket: "backups", region: "eu-central-1" };
const TLS = { ...kubernetes, tls: { secretName: "t" } };
const TWO_ZONES = { type: "host", zones: ["a", "b"] };
const controlled = (controller: Raw): Raw => podCluster({ controller });
const withBucket = (backups: Raw, backup: Raw): Raw => on(eks({ backups }), cluster({ backup }));
const onPools = (pools: Raw): Raw => onEks({ pools });
const eksPods = (pods: Raw): Raw => eksCluster({ pods });
const existing = (changes: Raw): Raw => {
  const privateSubnetIds = ["subnet-01234567", "subnet-11234567"];
  return onEks({ network: { kind: "existing", vpcId: "vpc-01234567", privateSubnetIds, ...changes } });
};
const resources = (cpu: string): Raw => ({ requests: { cpu, memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } });
const openLoop = (changes: Raw): Raw => workload({ loadGenerator: "open-loop", rate: 1, ...changes });
const replicas = (count: number): Raw => ({ deployments: { r: { mode: "replication", replicas: count } } });
const option = (values: Raw) => (): unknown => parseConfig("stack x", SMALL_STACK, MACHINE, benchmarkOverrides(values));
const mixed = (values: Raw) => option({ loadGenerator: "open-loop", duration: 2, keyspaceLen: 16_384, ...values });
const FILE = { platform: { type: "eks", zones: ["a", "b", "c"] } };
const set = (assignment: string) => (): unknown => applyOverrides(FILE, [assignment]);
const file = (text: string) => (): unknown => parseStackFile("f", text);

describe("bad input", () => {
  testProblems("./problems.txt", problems, [
    ["wrong-value deployments.cluster.users.app.rules", deployment({ users: { app: { rules: "+get >secret ~*" } } })],
    ["wrong-value deployments.cluster.users.default", deployment({ users: { default: { rules: "+get ~*" } } })],
    ["no-pods deployments.cluster.users", deployment({ users: { app: { rules: "+get ~*" } } })],
    ["no-pods deployments.cluster.external", deployment({ external: { type: "NodePort" } })],
    ["wrong-value deployments.cluster.external.type", deployment({ external: { type: "ClusterIP" } })],
    [
      "ranges-of-node-ports deployments.cluster.external.sourceRanges",
      { ...deployment({ external: { type: "NodePort", sourceRanges: ["10.0.0.0/8"] } }), platform: kubernetes },
    ],
    ["unknown-key benchmarks", { ...SMALL_STACK, benchmarks: {} }],
    ["unknown-key benchmark.client", benchmark({ client: 3 })],
    ["unknown-key deployments.cluster.primarys", deployment({ primarys: 3 })],
    ["unknown-directive deployments.cluster.settings.io-thread", settings({ "io-thread": 1 })],
    ["unknown-key deployments.r.primaries", watched({ primaries: 3 })],
    ["wrong-value benchmark.clients", benchmark({ clients: "many" })],
    ["wrong-value benchmark.clients", benchmark({ clients: 4.5 })],
    ["wrong-value benchmark.clients", benchmark({ clients: 0 })],
    ["wrong-value deployments.cluster.mode", deployment({ mode: "sharded" })],
    ["missing deployments.x.mode", { ...SMALL_STACK, deployments: { x: {} } }],
    ["wrong-value platform.type", { ...SMALL_STACK, platform: { type: "moon" } }],
    ["missing platform", { deployments: SMALL_STACK.deployments }],
    ["no-deployments deployments", { ...SMALL_STACK, deployments: {} }],
    ["wrong-name deployments.My Cluster", { ...SMALL_STACK, deployments: { "My Cluster": cluster() } }],
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
      { ...benchmark({ dataSize: 1_000_000 }), ...replicas(2) },
    ],
    ["more-zones-than-nodes platform.zones", { ...SMALL_STACK, ...replicas(1) }],
    ["one-zone platform.zones", { ...SMALL_STACK, platform: { type: "host", zones: ["a"] } }],
    ["zone-twice platform.zones", { ...SMALL_STACK, platform: { type: "host", zones: ["a", "b", "a"] } }],
    ["no-writes deployments.cluster.settings.min-replicas-to-write", settings({ "min-replicas-to-write": 2 })],
    ["unknown-directive deployments.cluster.settings.tcp-backlg", settings({ "tcp-backlg": 511 })],
    ["wrong-value deployments.cluster.settings.hz 10\nport", settings({ "hz 10\nport": 1 })],
    ["wrong-value deployments.cluster.settings.other", settings({ other: { hz: 10 } })],
    ["wrong-value workloads.w.loadGenerator", workload({ loadGenerator: "wrk" })],
    ["missing workloads.w.rate", workload({ loadGenerator: "open-loop" })],
    ["missing capacity.objective", capacity({})],
    ["not-an-objective capacity.objective", capacity({ objective: "p99" })],
    ["no-open-loop capacity", { ...SMALL_STACK, capacity: { objective: "p99=2ms" } }],
    ["not-open-loop capacity.workload", capacity({ objective: "p99=2ms", workload: "plain" })],
    [
      "study-with-workloads workloads",
      { ...study({ kind: "density", vary: { pipeline: [1, 2] } }), workloads: { w: { keySpace: 98_304 } } },
    ],
    ["unknown-key workloads.w.arrivals", workload({ arrivals: "fixed" })],
    ["wrong-value workloads.w.reads", workload({ reads: 90 })],
    ["wrong-value workloads.w.values.max", openLoop({ values: { sizes: "uniform", min: 9, max: 3 } })],
    ["wrong-value workloads.w.keys.distribution", openLoop({ keys: { distribution: "zipf" } })],
    [
      "no-replica-reads workloads.w.readFrom",
      workload({ reads: 0.5, clients: 51, keySpace: 98_304, readFrom: "replica" }),
    ],
    ["uneven-rate workloads.w.rate", workload({ loadGenerator: "memtier", clients: 51, keySpace: 98_304, rate: 1000 })],
    ["uneven-load workloads.w.clients", workload({ loadGenerator: "open-loop", rate: 1, workers: 5 })],
    ["no-replicas workloads.w.readFrom", { ...openLoop({ readFrom: "replica" }), ...replicas(0) }],
    ["data-exceeds-maxmemory workloads.w.keySpace", workload({ dataSize: 65_536 })],
    ["unknown-key study.vary.cpu", study({ vary: { cpu: [1] } })],
    ["wrong-value study.vary.primaries.1", study({ vary: { primaries: [1, 2] } })],
    ["wrong-value study.vary.pipeline", study({ vary: { pipeline: [1, 1] } })],
    ["wrong-value study.vary.engine.0", study({ vary: { engine: ["dragonfly"] } })],
    ["one-treatment study", { ...study({}), deployments: { cluster: SMALL_STACK.deployments.cluster } }],
    ["uneven-load benchmark.clients", study({ vary: { primaries: [3, 5] } })],
    ["growth-of-several-nodes study.growth", study({ vary: { pipeline: [1, 2] }, growth: { keys: 1_000_000 } })],
    ["wrong-value benchmark.requests", benchmark({ duration: 5, requests: 5 })],
    ["engine-needs-pods deployments.d.engine", on({ type: "host" }, cluster({ engine: "redis" }))],
    ["engine-without-cluster deployments.d.engine", podCluster({ engine: "dragonfly" })],
    [
      "setting-of-valkey deployments.d.settings.io-threads",
      podSingle({ engine: "dragonfly", pods: { zones: ["a"] }, settings: { "io-threads": 4 } }),
    ],
    ["engine-without-tls platform.tls", on({ ...kubernetes, tls: { secretName: "t" } }, cluster({ engine: "redis" }))],
    ["no-charts deployments.d.chart", on({ type: "host" }, single({ replicas: 2, chart: {} }))],
    ["excluded-by-chart deployments.d.chart", on(TLS, single({ replicas: 2, chart: {} }))],
    ["excluded-by-chart deployments.d.chart", podSingle({ replicas: 2, sentinel: true, chart: {} })],
    ["chart-without-replicas deployments.d.replicas", podSingle({ pods: { zones: ["a"] }, chart: {} })],
    [
      "value-of-deployment deployments.d.chart.values.replica.replicas",
      podSingle({ replicas: 2, chart: { values: { replica: { replicas: 3 } } } }),
    ],
    ["wrong-value platform.tls", on({ ...kubernetes, tls: {} }, cluster())],
    [
      "wrong-value platform.resources.requests.memory",
      on(
        { ...kubernetes, resources: { requests: { cpu: "1", memory: "1 GB" }, limits: { cpu: "1", memory: "1Gi" } } },
        cluster(),
      ),
    ],
    ["no-secrets deployments.d.passwordSecret", hostCluster({ passwordSecret: { name: "login", key: "password" } })],
    ["two-passwords deployments.d.passwordSecret", podCluster({ passwordVersion: 1, passwordSecret: SECRET })],
    ["no-pods deployments.d.controller", hostCluster({ controller: {} })],
    ["excluded-by-chart deployments.d.controller", podSingle({ replicas: 2, chart: {}, controller: {} })],
    ["needs-valkey deployments.d.controller", podSingle({ replicas: 2, engine: "redis", controller: {} })],
    ["needs-valkey deployments.d.onSilentReplica", podSingle({ engine: "redis", onSilentReplica: 5 })],
    ["no-pods deployments.cluster.passwordOverlapSeconds", deployment({ passwordOverlapSeconds: 90 })],
    ["excluded-by-chart deployments.d.chart", podSingle({ replicas: 2, onSilentReplica: "wait", chart: {} })],
    ["wrong-value deployments.d.controller.everySeconds", podCluster({ controller: { everySeconds: 1 } })],
    [
      "needs-repair deployments.d.controller.replaceLostMachinesAfterSeconds",
      controlled({ repair: false, replaceLostMachinesAfterSeconds: 300 }),
    ],
    [
      "needs-replicas deployments.d.controller.replaceLostMachinesAfterSeconds",
      podCluster({ replicasPerPrimary: 0, controller: { repair: true, replaceLostMachinesAfterSeconds: 300 } }),
    ],
    ["needs-repair deployments.d.controller.repairSettings", controlled({ repair: false, repairSettings: true })],
    ["no-pods deployments.d.backup", hostCluster({ backup: { bucket: "backups", region: "eu-central-1" } })],
    ["excluded-by-chart deployments.d.backup", podSingle({ replicas: 2, chart: {}, backup: BUCKET })],
    ["wrong-text deployments.d.backup.bucket", podCluster({ backup: { bucket: "My_Bucket", region: "eu-central-1" } })],
    ["no-bucket deployments.d.backup.bucket", podCluster({ backup: {} })],
    ["no-bucket-on-eks deployments.d.backup.bucket", eksCluster({ backup: {} })],
    ["needs-bucket deployments.d.backup.credentials", withBucket({}, { credentials: { secretName: "keys" } })],
    ["bucket-encryption platform.backups.encryption", withBucket({ encryption: "aws:kms:alias/ours" }, {})],
    ["kept-too-short deployments.d.backup.keepSeconds", podCluster({ backup: { ...BUCKET, keepSeconds: 3600 } })],
    ["not-a-bucket deployments.d.restoreFrom.from", podCluster({ restoreFrom: { from: "/backups/shop" } })],
    ["no-region deployments.d.restoreFrom.region", podCluster({ restoreFrom: { from: "s3://backups/shop" } })],
    [
      "other-platform deployments.d.restoreFrom.memory",
      hostCluster({ restoreFrom: { from: "/backups/shop", memory: "2Gi" } }),
    ],
    ["not-a-place deployments.d.restoreFrom", hostCluster({ restoreFrom: { from: "backups/shop" } })],
    ["no-pods deployments.d.pods", on({ type: "host" }, cluster({ pods: {} }))],
    ["no-pools deployments.d.pods.pool", podCluster({ pods: { pool: "servers" } })],
    ["no-pools deployments.d.pods.instanceType", podCluster({ pods: { instanceType: "r7g.large" } })],
    ["replicas-on-one-machine deployments.d.pods.oneMachine", eksPods({ oneMachine: true, zones: ["a", "b"] })],
    [
      "one-machine-in-zones deployments.d.pods.oneMachine",
      eksCluster({ replicasPerPrimary: 0, pods: { oneMachine: true } }),
    ],
    ["unknown-key platform.chart", on({ ...kubernetes, chart: { from: "path", path: "charts/valkey" } }, cluster())],
    ["no-such-zone deployments.d.pods.zones", eksCluster({ pods: { zones: ["a", "e"] } })],
    ["wrong-value deployments.d.pods.storage.className", eksCluster({ pods: { storage: { className: "io2" } } })],
    ["type-not-in-pool deployments.d.pods.instanceType", eksCluster({ pods: { instanceType: "r7g.2xlarge" } })],
    ["no-such-pool platform.pools.networkOptimized", eksCluster({ pods: { pool: "networkOptimized" } })],
    ["unknown-type platform.pools.servers.instanceTypes.0", onPools({ servers: { instanceTypes: ["r7g.huge"] } })],
    ["network-too-small platform.network.cidr", onEks({ network: { cidr: "10.0.0.0/24" } })],
    [
      "memory-exceeds-pod deployments.d.settings.maxmemory",
      eksCluster({ settings: { maxmemory: "10gb" }, pods: { resources: resources("1") } }),
    ],
    ["uneven-zones platform.zones", on({ ...kubernetes, zones: ["a", "b"] }, cluster({ replicasPerPrimary: 3 }))],
    ["uneven-zones deployments.d.pods.zones", eksCluster({ replicasPerPrimary: 3, pods: { zones: ["a", "b"] } })],
    [
      "more-threads-than-cores deployments.d.settings.io-threads",
      eksCluster({ settings: { "io-threads": 2 }, pods: { resources: resources("2") } }),
    ],
    ["more-threads-than-cores deployments.d.settings.io-threads", eksCluster({ settings: { "io-threads": 2 } })],
    ["unknown-key platform.cluter", onEks({ cluter: {} })],
    ["wrong-value platform.region", onEks({ region: "oregon" })],
    ["wrong-value platform.region", onEks({ region: "cn-north-1" })],
    ["wrong-value platform.network.nat", onEks({ network: { nat: "none" } })],
    ["unknown-key platform.network.cidrr", onEks({ network: { cidrr: "10.0.0.0/16" } })],
    ["wrong-value platform.network.cidr", onEks({ network: { cidr: "10.0.0.0/40" } })],
    ["missing platform.network.privateSubnetIds", existing({ privateSubnetIds: undefined })],
    ["wrong-value platform.network.vpcId", existing({ vpcId: "main" })],
    ["wrong-value platform.zones", onEks({ zones: ["a"] })],
    ["zone-twice platform.zones", onEks({ zones: ["a", "a"] })],
    ["open-access platform.cluster.publicAccessCidrs", onEks({ cluster: { publicAccessCidrs: ["0.0.0.0/0"] } })],
    [
      "open-access platform.cluster.publicAccessCidrs",
      onEks({ cluster: { publicAccessCidrs: ["0.0.0.0/1", "128.0.0.0/1"] } }),
    ],
    ["wrong-value platform.cluster.publicAccessCidrs.0", onEks({ cluster: { publicAccessCidrs: ["home"] } })],
    ["wrong-value platform.cluster.keyArn", onEks({ cluster: { keyArn: "alias/x" } })],
    ["wrong-value platform.pools.servers.instanceTypes.0", onEks({ pools: { servers: { instanceTypes: ["large"] } } })],
    ["wrong-value platform.pools.servers.instanceTypes", onEks({ pools: { servers: { instanceTypes: [] } } })],
    ["wrong-value platform.pools.servers.capacity", onEks({ pools: { servers: { capacity: "spot" } } })],
    ["wrong-value platform.pools.networkOptimized.capacity", onPools({ networkOptimized: { capacity: "spot" } })],
    ["wrong-value platform.pools.clients.capacity", onEks({ pools: { clients: { capacity: "reserved" } } })],
    ["unknown-key platform.pools.server", onEks({ pools: { server: {} } })],
    ["wrong-value platform.system.machines", onEks({ system: { machines: 1 } })],
    ["wrong-value platform.clusterName", onEks({ clusterName: "x".repeat(39) })],
    ["too-few-subnets platform.network.privateSubnetIds", existing({})],
    ["wrong-value platform.network.cidr", onEks({ network: { cidr: "10.0.0.0/8" } })],
    ["wrong-value platform.storage.className", onEks({ storage: { className: "io2" } })],
    ["no-such-zone platform.clients.zone", onEks({ clients: { zone: "f" } })],
    ["wrong-value platform.cluster.logRetentionInDays", onEks({ cluster: { logRetentionInDays: 8 } })],
    ["too-few-zones deployments.r.sentinel", watched({ sentinel: {}, replicas: 1 }, TWO_ZONES)],
    [
      "too-few-zones deployments.r.sentinel",
      watched({ sentinel: {}, replicas: 1, pods: { zones: ["a", "b"] } }, kubernetes),
    ],
    ["too-few-zones deployments.r.sentinel", watched({ sentinel: true, replicas: 1 }, TWO_ZONES)],
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
    ["uneven-load benchmark.clients", { ...eksCluster(), benchmark: { clients: 50, threads: 4 } }],
    ["uneven-load benchmark.threads", { ...eksCluster(), benchmark: { clients: 50, threads: 4 } }],
    ["no-such-zone failures.x.zone", { ...eksCluster(), failures: { x: { fault: "cut-zone", zone: "b" } } }],
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
