/** Faults that a controller repairs, under writes: time from the fault until every assertion holds again. */
import { setTimeout as sleep } from "node:timers/promises";
import { objectNames } from "../../../components/kubernetes/names";
import { PASSWORD_FILE } from "../../../components/kubernetes/server-config";
import { Failure } from "../../../lib/errors";
import { holdsInTime } from "../../../lib/polling";
import { inspectDeployment } from "../../../provider/updates/drift";
import { nodeCount } from "../../../valkey/topology/placement";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import type { PodsKind } from "../../support/kubernetes/deployed-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { ObserverPod } from "../../support/kubernetes/observer-pod";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import { never } from "../../support/valkey/real";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { atMost, singleRow } from "../row";
import type { Check } from "./abandoned-slot";
import { abandonSlot } from "./abandoned-slot";

const ROUNDS = 10;
/** Writes per second to a deployment. */
export const WRITES_PER_SECOND = 500;
/** Limit of a repair. What takes longer is not repaired. */
const LIMIT_SECONDS = 600;
/** A controller repairs at most six times an hour, so it is replaced before. */
const REPAIRS_PER_CONTROLLER = 5;
const POLL_MS = 1000;
const AFTER_MS = 3000;
/** Time without a failover after which the controller lets replicas take over for an even spread. */
const QUIET_MS = 5 * 60_000;
/** Time without work on an open slot after which its migration counts as abandoned. */
const ABANDONED_MS = 5 * 60_000;

interface Fault {
  readonly id: string;
  readonly what: string;
  readonly kind: PodsKind;
  /** Target of the longest time, seconds. */
  readonly limit: number;
  readonly strike: (controlled: ControlledPods, round: number, checks: Check[]) => Promise<void>;
  /** Part of the time for which the controller waits on purpose, milliseconds. @default 0 */
  readonly quietMs?: number;
}

export const CLUSTER: PodsKind = { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } };
const SENTINELS: PodsKind = {
  ...{ mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 } },
  sentinel: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 },
};

const FAULTS: readonly Fault[] = [
  {
    id: "node",
    what: "a replica of a cluster comes back without its data",
    kind: CLUSTER,
    limit: 60,
    strike: emptyNode,
  },
  { id: "replica", what: "a replica follows the wrong primary", kind: CLUSTER, limit: 60, strike: moveReplica },
  { id: "sentinel", what: "a Sentinel monitors a replica", kind: SENTINELS, limit: 60, strike: misleadSentinel },
  {
    id: "zone",
    what: "two primaries in one zone, from five minutes after the last failover",
    kind: CLUSTER,
    limit: 90,
    strike: crowdZone,
    quietMs: QUIET_MS,
  },
  {
    id: "slots",
    what: "an abandoned migration of a slot, from the end of the five minutes without work on it",
    kind: CLUSTER,
    limit: 60,
    strike: abandonSlot,
    quietMs: ABANDONED_MS,
  },
  {
    id: "settings",
    what: "a setting that is changed by hand on one server",
    kind: CLUSTER,
    limit: 60,
    strike: changeSetting,
  },
];
const METRICS = ["seconds", "lost", "failed"] as const;
type Metric = (typeof METRICS)[number];
const idOf = (fault: Fault, metric: Metric): string => `heal-${fault.id}-${metric}`;
const IDS = FAULTS.flatMap((fault) => METRICS.map((metric) => idOf(fault, metric)));

export const heal: Benchmark = {
  title: "Faults that a controller repairs",
  ids: IDS,
  run: async (context) => {
    const { wanted, skip } = context;
    for (const fault of FAULTS) {
      const ids = METRICS.map((metric) => idOf(fault, metric)).filter((id) => wanted.has(id));
      if (ids.length === 0) continue;
      if (KUBECONFIG === undefined)
        for (const id of ids) skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
      else await measure(fault, context);
    }
  },
};

async function measure(fault: Fault, { report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const name = `heal-${fault.id}`;
  const settings = { save: "", "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open(name, fault.kind, { settings, ephemeral: true });
  const controlled = await ControlledPods.open(pods, { repair: true, repairSettings: true });
  const seconds: number[] = [];
  const writes: ObservedWrites[] = [];
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const observer = await observe(pods);
    for (let round = 1; round <= ROUNDS && !signal.aborted; round++) {
      if (round % REPAIRS_PER_CONTROLLER === 0) {
        await controlled.renew();
        await controlled.untilLook(120, ({ pass }) => pass);
      }
      let took = 0;
      const observed = await observer.during(async () => {
        const began = performance.now();
        const checks: Check[] = [];
        await fault.strike(controlled, round, checks);
        await untilHealthy(pods);
        took = (performance.now() - began - (fault.quietMs ?? 0)) / 1000;
        for (const check of checks) await check();
      }, AFTER_MS);
      seconds.push(took);
      writes.push(observed);
      const { acknowledged, failed, errors, lost } = observed;
      const repairs = (await controlled.ask("/metrics"))
        .split("\n")
        .filter((line) => line.startsWith("valkey_repairs"));
      report(
        `${name}, round ${round}: ${took.toFixed(1)} s, ${lost} lost and ${failed} failed of ${acknowledged + failed} writes ${JSON.stringify(errors)}; ${repairs.join(", ")}`,
      );
    }
  } finally {
    await controlled.close();
  }
  const what = `${fault.what}, ${seconds.length} times under ${WRITES_PER_SECOND} writes/s`;
  const rows = [
    singleRow(
      { id: idOf(fault, "seconds"), what: `${what}: longest time until all assertions hold`, unit: "s" },
      Math.max(...seconds),
      atMost(fault.limit),
    ),
    ...(["lost", "failed"] as const).map((metric) =>
      singleRow(
        { id: idOf(fault, metric), what: `${what}: ${metric}`, unit: "writes" },
        sum(writes, metric),
        atMost(0),
      ),
    ),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

const sum = (writes: readonly ObservedWrites[], metric: "lost" | "failed"): number =>
  writes.reduce((total, each) => total + each[metric], 0);

/** A pod that writes to the deployment. @param replicas replicas that must have a write before it is acknowledged */
export function observe({ here, target }: DeployedPods, replicas = 0): Promise<ObserverPod<"observer-main.ts">> {
  const { name, namespace, mode, shape } = target;
  const { client, headless, secret } = objectNames(name);
  const hosts =
    mode === "cluster"
      ? Array.from({ length: nodeCount(shape) }, (_, index) => `${name}-${index}.${headless}`)
      : [client];
  const endpoints = hosts.map((host) => ({ host: `${host}.${namespace}.svc.cluster.local`, port: 6379 }));
  const order = { mode, endpoints, rate: WRITES_PER_SECOND, replicas };
  return ObserverPod.start(here, `${name}-observer`, "observer-main.ts", order, { secret, key: PASSWORD_FILE });
}

/** Waits until every assertion holds and nothing is remarked, as this process finds it. */
export async function untilHealthy(pods: DeployedPods): Promise<void> {
  const healthy = (): Promise<boolean> => isHealthy(pods);
  if (!(await holdsInTime(healthy, { timeoutMs: LIMIT_SECONDS * 1000, intervalMs: POLL_MS })))
    throw new Failure(`${pods.target.name} is not repaired: ${(await inspect(pods)).drift.join("; ")}`);
}

/** Whether every assertion holds and nothing is remarked. */
export async function isHealthy(pods: DeployedPods): Promise<boolean> {
  const { verification, drift } = await inspect(pods);
  return verification?.verdict.pass === true && drift.length === 0;
}

const inspect = ({ target, password }: DeployedPods): ReturnType<typeof inspectDeployment> =>
  inspectDeployment(target, password, { signal: never });

export interface Shard {
  readonly primary: string;
  readonly replica: string;
}

export async function shardsOf(pods: DeployedPods): Promise<Shard[]> {
  const { shards } = (await pods.verified()).verdict;
  return shards.map(({ primary = "", replicas: [replica = ""] }) => ({ primary, replica }));
}

/** Deletes the pod of a replica without grace; its volume goes with it. */
async function emptyNode({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const { here, target } = pods;
  const name = shards[round % shards.length]?.replica ?? "";
  const before = (await here.core.readNamespacedPod({ namespace: target.namespace, name })).metadata?.uid;
  await here.core.deleteNamespacedPod({ namespace: target.namespace, name, gracePeriodSeconds: 0 });
  await here.until(60, async () => {
    const gone = (await here.pods(podLabels(target.name))).every(({ metadata }) => metadata?.uid !== before);
    return gone ? undefined : `${name} is still there`;
  });
}

/** Leaves a shard without a replica, and another with two. */
export async function moveReplica({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const from = shards[round % shards.length];
  const to = shards[(round + 1) % shards.length];
  await pods.withNodes(async (at, all) => {
    // Otherwise the nodes move a replica by themselves.
    for (const each of all) await each.config("SET", "cluster-allow-replica-migration", "no");
    const id = String(await at(to?.primary).call("CLUSTER", "MYID"));
    await at(from?.replica).call("CLUSTER", "REPLICATE", id);
  });
}

/** Makes one Sentinel monitor a replica. */
async function misleadSentinel({ pods }: ControlledPods, round: number): Promise<void> {
  const { target, here } = pods;
  const [shard] = await shardsOf(pods);
  const { headless, sentinel } = objectNames(target.name);
  const host = `${shard?.replica ?? ""}.${headless}.${target.namespace}.svc.cluster.local`;
  const commands = [`SENTINEL REMOVE ${target.name}`, `SENTINEL MONITOR ${target.name} ${host} 6379 2`];
  const tell = `{ cat $VALKEY_PASSWORD_FILE; echo; printf '${commands.join("\\n")}\\n'; } | valkey-cli -p 26379 --askpass --no-auth-warning`;
  await here.run(`${sentinel}-${round % 3}`, "sentinel", tell);
}

/** Lets replicas take over until two primaries are in one zone. */
async function crowdZone({ pods }: ControlledPods): Promise<void> {
  const { facts } = await pods.verified();
  const zones = new Map(facts.nodes.map(({ node }) => [node.name, node.zone]));
  const shards = await shardsOf(pods);
  const used = new Set(shards.map(({ primary }) => zones.get(primary)));
  const crowding = shards.find(
    ({ primary, replica }) => zones.get(replica) !== zones.get(primary) && used.has(zones.get(replica)),
  );
  if (crowding === undefined) throw new Failure("no replica is in a zone with another primary");
  await pods.withNodes(async (at) => {
    await at(crowding.replica).call("CLUSTER", "FAILOVER");
    while (!String(await at(crowding.replica).call("ROLE")).startsWith("master")) await sleep(POLL_MS);
  });
}

/** Changes a configured setting on one server. */
async function changeSetting({ pods }: ControlledPods, round: number): Promise<void> {
  await pods.withNodes(async (_, all) => {
    await all[round % all.length]?.config("SET", "save", "3600 1");
  });
}
