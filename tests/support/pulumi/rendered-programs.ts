/** The programs whose resources are reviewed in `tests/rendered/`: two stacks, and components with all that they can have. */
import { isDeepStrictEqual } from "node:util";
import * as pulumi from "@pulumi/pulumi";
import { BenchmarkJob } from "../../../components/benchmark-job";
import type { ExternalTarget } from "../../../components/measuring/arguments";
import { EngineDeployment } from "../../../components/engine-deployment";
import { LoadCapacity } from "../../../components/load-capacity";
import { UpstreamChart } from "../../../components/upstream-chart";
import { ValkeyAlerts } from "../../../components/valkey-alerts";
import { type ValkeyClusterArgs, ValkeyCluster } from "../../../components/valkey-cluster";
import { ValkeyDashboard } from "../../../components/valkey-dashboard";
import { type ValkeyReplicationArgs, ValkeyReplication } from "../../../components/valkey-replication";
import { program as stackProgram } from "../../../stacks/program/program";
import { verifiedTopology } from "../benchmarks/records";
import { accountCalls, awsOutputs } from "./eks";
import { type DeclaredResource, resourceKey, withAncestors } from "./declared-resources";
import { type MockOutputs, type ProgramRun, OWN_OUTPUTS, runProgram } from "./pulumi-mocks";
import { plainResources, renderedYaml } from "./rendered-yaml";
import { configOf } from "../stack-config";

/** Texts that a program gets as secrets. They stand nowhere else, so that each place in which one appears is found. */
export const SECRETS = [
  "password-of-default",
  "password-of-a-user",
  "key-of-the-bucket",
  "password-elsewhere",
] as const;
/** Plain texts: what is secret about them is that the components make them secrets. */
const [PASSWORD, USER_PASSWORD, BUCKET_KEY, ELSEWHERE] = SECRETS;

const ZONES = ["a", "b", "c"];

export const CLUSTER: ValkeyClusterArgs = {
  namespace: "shop",
  shape: { primaries: 3, replicasPerPrimary: 1 },
  zones: ZONES,
};
export const REPLICATION: ValkeyReplicationArgs = { namespace: "shop", replicas: 2, zones: ZONES };

/** A cluster with everything at once that a cluster may have inside of Kubernetes. */
const FULL_CLUSTER: ValkeyClusterArgs = {
  ...CLUSTER,
  password: PASSWORD,
  users: { reports: { rules: "+@read ~app:*", password: USER_PASSWORD } },
  settings: { appendonly: true, maxmemory: 2 ** 30, "io-threads": 2 },
  resources: { requests: { cpu: "2", memory: "3Gi" }, limits: { cpu: "2", memory: "3Gi" } },
  storage: { className: "fast", size: "20Gi", onDestroy: "keep" },
  placement: {
    hostAntiAffinity: "required",
    ownMachines: true,
    nodeSelector: { pool: "servers" },
    tolerations: [{ key: "servers", operator: "Exists", effect: "NoSchedule" }],
  },
  imagePullSecrets: ["registry"],
  tls: { issuer: { name: "internal", kind: "ClusterIssuer" } },
  access: {
    clients: [{ podSelector: { matchLabels: { app: "shop" } } }],
    monitoring: [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }],
  },
  metrics: { serviceMonitor: true },
  controller: {
    everySeconds: 60,
    onLostMajority: "takeover",
    replaceLostMachinesAfterSeconds: 300,
    apiServerPorts: [8443],
  },
  backup: {
    bucket: "backups",
    endpoint: "http://10.244.0.1:4568",
    credentials: { accessKeyId: BUCKET_KEY, secretAccessKey: BUCKET_KEY },
    drill: "weekly",
  },
  restoreFrom: {
    ...{ bucket: "backups", prefix: "shop/former", endpoint: "http://10.244.0.1:4568", at: "2026-11-24T08:00:00Z" },
    ...{ credentials: { secretName: "minio" }, keys: ["app:*"], ttl: "remaining", memory: "2Gi", scratchSize: "20Gi" },
  },
};

const FULL_REPLICATION: ValkeyReplicationArgs = {
  ...REPLICATION,
  password: PASSWORD,
  sentinel: true,
  tls: { issuer: { name: "internal" } },
  metrics: { serviceMonitor: true },
  imagePullSecrets: ["registry"],
  controller: { replaceLostMachinesAfterSeconds: 300 },
  maxLagSeconds: 60,
};

const elsewhere: ExternalTarget = {
  ...{ name: "elsewhere", mode: "replication" as const, nodes: [{ host: "cache.example", port: 6380, zone: "a" }] },
  ...{ password: ELSEWHERE, tls: { caCertificate: "PEM" } },
};

function measurements(): Record<string, pulumi.Resource> {
  const chart = new UpstreamChart("chart", {
    ...{ replicas: 2, zones: ZONES, password: PASSWORD, settings: { appendonly: true, save: "" } },
    image: "registry.example:5000/valkey/valkey:9.1.2",
    resources: { requests: { cpu: "1", memory: "2Gi" }, limits: { cpu: "2", memory: "2Gi" } },
  });
  const redis = new EngineDeployment("redis", {
    ...{
      engine: "redis",
      imagePullSecrets: ["registry"],
      image: "docker.io/library/redis:8.2.1",
      mode: "cluster",
      zones: ZONES,
      settings: { save: "" },
    },
    ...{ shape: { primaries: 3, replicasPerPrimary: 1 }, password: PASSWORD },
  });
  const dragonfly = new EngineDeployment("dragonfly", {
    imagePullSecrets: ["registry"],
    ...{ engine: "dragonfly", image: "docker.dragonflydb.io/dragonflydb/dragonfly:v1.37.2", mode: "replication" },
    ...{
      shape: { primaries: 1, replicasPerPrimary: 2 },
      zones: ZONES,
      settings: { proactor_threads: 8 },
      password: PASSWORD,
    },
  });
  const compare = new BenchmarkJob("compare", { targets: [chart, redis, dragonfly], externalTargets: [elsewhere] });
  const mixed = new BenchmarkJob("mixed", {
    externalTargets: [elsewhere],
    workloads: { steady: { loadGenerator: "open-loop", rate: 100 }, mixed: { reads: 0.5 } },
    capacity: { objective: "p99=2ms", maxRate: 5000 },
    ...{ duration: 2, output: "out/first", loadGenerators: { namespace: "load", nodeSelector: { pool: "clients" } } },
  });
  const limit = new LoadCapacity("limit", { externalTargets: [elsewhere], objective: "p99=2ms" });
  const bounded = new LoadCapacity("bounded", {
    ...{ externalTargets: [elsewhere], objective: "p99.9 ≤ 500us", maxRate: 2000, duration: 3 },
    workload: { reads: 1, values: { sizes: "fixed", bytes: 16 } },
  });
  return { chart, redis, dragonfly, compare, mixed, limit, bounded };
}

function stack(name: string, ...assignments: readonly string[]): () => Promise<Record<string, unknown>> {
  const config = configOf(name, ...assignments);
  return () => stackProgram(name, config);
}

/** The stack dev with everything else that a platform may have, and pools on a cluster that exists. */
async function platform(): Promise<void> {
  const { KarpenterPools } = await import("../../../components/eks/karpenter/karpenter-pools.js");
  const pools = { servers: { vcpuLimit: 24 }, networkOptimized: { vcpuLimit: 8 } };
  const existing = { clusterName: "production", nodeRole: "production-node", zones: ["us-west-2a"] };
  new KarpenterPools("mine", { ...existing, pools });
  new KarpenterPools("named", { ...existing, subnetIds: ["subnet-1"], securityGroupIds: ["sg-1"], pools });
  await stack(
    "dev",
    "platform.backups={}",
    "platform.imageCache={}",
    "platform.network={nat: perZone, flowLogs: true}",
    "platform.pools.clients={capacity: spot}",
    "platform.cluster={deletionProtection: true, publicAccessCidrs: [198.51.100.0/24], logRetentionInDays: 30}",
    "platform.cluster.access={team: {principalArn: arn:aws:iam::123456789012:role/team, rights: view}}",
    "deployments.cluster.backup={}",
    "deployments.replication.restoreFrom={from: s3://theirs/shop/orders}",
  )();
}

interface RenderedProgram {
  readonly title: string;
  readonly make: () => unknown;
  /** Program whose resources are left out where they are the same. @default none */
  readonly besides?: () => unknown;
  readonly ofDeployments?: RegExp;
}

function externalReach(isExternal: boolean): void {
  const nodePort = isExternal ? { external: { type: "NodePort" as const } } : {};
  const balancer = { type: "LoadBalancer" as const, annotations: { internal: "true" }, sourceRanges: ["10.0.0.0/8"] };
  const common = { controller: false, password: PASSWORD };
  new ValkeyCluster("orders", { ...CLUSTER, ...common, ...(isExternal ? { external: balancer } : {}) });
  new ValkeyReplication("sessions", { ...REPLICATION, ...common, ...nodePort });
  new ValkeyReplication("plain", { ...REPLICATION, ...common, ...nodePort, sentinel: false });
}

export const PROGRAMS: Readonly<Record<string, RenderedProgram>> = {
  "stack-kind": { title: "The stack kind.", make: stack("kind") },
  "stack-dev": {
    title: "The stack dev on EKS. Of its deployments, the references and the pods; stack-kind.yaml has the rest.",
    make: stack("dev"),
    ofDeployments: /:(Access|StatefulSet)$/,
  },
  cluster: {
    title:
      "A cluster with volumes, TLS, users, metrics, backup with drill, restore, controller, and machines of its own.",
    make: () => new ValkeyCluster("orders", FULL_CLUSTER),
  },
  "replication-with-sentinels": {
    title: "Replication with Sentinels and proxies, TLS, metrics and a controller.",
    make: () => new ValkeyReplication("sessions", FULL_REPLICATION),
  },
  replication: {
    title: "Replication without Sentinels: what differs from replication-with-sentinels.yaml.",
    make: () => new ValkeyReplication("sessions", { ...FULL_REPLICATION, sentinel: false }),
    besides: () => new ValkeyReplication("sessions", FULL_REPLICATION),
  },
  "external-reach": {
    title: "Clients outside the Kubernetes cluster: what differs from the same three deployments without them.",
    make: () => {
      externalReach(true);
    },
    besides: () => {
      externalReach(false);
    },
  },
  measurements: {
    title: "Benchmarks, searches for a capacity, the upstream chart, other engines.",
    make: measurements,
  },
  platform: {
    title: "Platforms on EKS with all that they may have: what differs from the stack dev, and pools of their own.",
    make: platform,
    besides: stack("dev"),
    ofDeployments: /:(PodCredentials|ServiceAccount|StatefulSet)$/,
  },
  observability: {
    title: "Alerts and dashboards.",
    make: () => {
      new ValkeyAlerts("alerts", { namespace: "shop", labels: { release: "prometheus" } });
      new ValkeyDashboard("live", { namespace: pulumi.output("shop") });
      new ValkeyDashboard("central", {
        ...{ namespace: "shop", configMapNamespace: "monitoring", title: "Orders", labels: { dashboards: "yes" } },
        annotations: { grafana_folder: "Valkey" },
      });
    },
  },
};

const topology = verifiedTopology("cluster", 3);
const outputs: MockOutputs = (type, name, inputs) => {
  if (type.endsWith(":Measurement"))
    return {
      results: name === "benchmark" ? null : { capacities: [] },
      report: "report.html",
      comparison: [],
      summary: "",
    };
  if (type.endsWith(":DeploymentVerification")) return { topology, verifiedAt: "2026-07-20T10:00:00.000Z", drift: [] };
  return type.startsWith("aws:s3/bucket:")
    ? { bucket: inputs["bucket"] ?? "generated" }
    : (OWN_OUTPUTS[type] ?? awsOutputs(type, name, inputs));
};

export const runRendered = (make: () => unknown): Promise<ProgramRun> => runProgram(make, outputs, accountCalls);

const runs = new Map<() => unknown, Promise<ProgramRun>>();

function once(make: () => unknown): Promise<ProgramRun> {
  const run = runs.get(make) ?? runRendered(make);
  runs.set(make, run);
  return run;
}

function programOf(name: string): RenderedProgram {
  const program = PROGRAMS[name];
  if (program === undefined) throw new Error(`no program ${name}`);
  return program;
}

/** A program of `PROGRAMS` that has run, once for all tests of a process. */
export const renderedRun = (name: string): Promise<ProgramRun> => once(programOf(name).make);

export async function renderedProgram(name: string): Promise<string> {
  const { title, make, besides, ofDeployments } = programOf(name);
  const { resources } = await once(make);
  const others = besides === undefined ? undefined : plainResources((await once(besides)).resources);
  const isOfDeployment = (each: DeclaredResource): boolean =>
    withAncestors(resources, each)
      .slice(1)
      .some(({ type }) => /^valkey:index:Valkey(Cluster|Replication)$/.test(type));
  const left = new Set(
    ofDeployments === undefined
      ? []
      : resources.filter((each) => isOfDeployment(each) && !ofDeployments.test(each.type)).map(resourceKey),
  );
  const shown = [...plainResources(resources)].filter(
    ([key, value]) => !left.has(key) && !isDeepStrictEqual(value, others?.get(key)),
  );
  return renderedYaml(title, new Map(shown));
}
