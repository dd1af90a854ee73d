/** The end of a server in a pod that nobody planned, beside pods that start without asking their replicas. */
import { PodFaultInjector } from "../../faults/injectors/pod-injector";
import type { Fault } from "../../faults/plan/fault";
import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import { allInOrder } from "../../lib/all-in-order";
import { Failure, messageOf } from "../../lib/errors";
import { Semaphore } from "../../lib/semaphore";
import type { ServerSettings } from "../../valkey/settings/settings";
import { nodeCount } from "../../valkey/topology/placement";
import type { PodsKind } from "../../tests/support/kubernetes/deployed-pods";
import {
  DeployedPods,
  LostSentinelsInjector,
  ProcessCrashInjector,
} from "../../tests/support/kubernetes/deployed-pods";
import type { KubernetesObject } from "../../tests/support/kubernetes/kubernetes-objects";
import { type Benchmark, type BenchmarkContext, NO_KUBERNETES } from "../workbench";
import type { ScenarioRecord } from "../fault-driver";
import {
  APPEND_ONLY,
  CLUSTER,
  NO_PERSISTENCE,
  PERSISTENCE,
  REPLICATION,
  runFault,
  SENTINELS,
  sumOf,
  writeLoad,
} from "../fault-driver";
import { type BenchRow, type RowTarget, atMost, singleRow, STATED } from "../row";

interface Case {
  readonly id: string;
  readonly what: string;
  readonly kind: PodsKind;
  readonly settings: ServerSettings;
  readonly ephemeral?: boolean;
  readonly fault: Fault;
  readonly Injector: typeof PodFaultInjector;
  /** Target of the longest time without writes, seconds. @default no target: the time is stated */
  readonly served?: RowTarget;
}

const KILL: Fault = { kind: "kill-primary" };
const PROCESS = { fault: KILL, Injector: ProcessCrashInjector };
const processCases = (id: string, what: string, kind: PodsKind, served?: RowTarget): Case[] =>
  PERSISTENCE.map(([own, how, settings]) => ({
    ...{ id: `crash-${id}-${own}`, what: `the process of ${what}, ${how}`, kind, settings, ...PROCESS },
    ...(served === undefined ? {} : { served }),
  }));
const CASES: readonly Case[] = [
  ...processCases("process", "a cluster's primary", CLUSTER, atMost(3)),
  {
    ...{ id: "crash-process-ephemeral", what: "the process of a cluster's primary, no volumes", ...PROCESS },
    ...{ kind: CLUSTER, settings: NO_PERSISTENCE, ephemeral: true, served: atMost(3) },
  },
  {
    ...{ id: "crash-pod", what: "the pod of a cluster's primary, deleted without grace, no persistence" },
    ...{ kind: CLUSTER, settings: NO_PERSISTENCE, fault: KILL, Injector: PodFaultInjector, served: atMost(5) },
  },
  {
    ...{ id: "crash-all-pods", what: "all pods of a cluster at once, append-only file", kind: CLUSTER },
    ...{ settings: APPEND_ONLY, fault: { kind: "kill-all", newAddresses: true }, Injector: PodFaultInjector },
  },
  ...processCases("replication", "the primary without Sentinels", REPLICATION),
  ...processCases("sentinels", "the primary with Sentinels", SENTINELS, atMost(3)),
  {
    ...{ id: "crash-all-sentinels", what: "all Sentinels, then the process of the primary, default snapshots" },
    ...{ kind: SENTINELS, settings: {}, fault: KILL, Injector: LostSentinelsInjector },
  },
];

const COMMON: ServerSettings = { "repl-diskless-sync-delay": 0 };
const CLUSTER_SETTINGS: ServerSettings = { "cluster-node-timeout": 5000 };
const RECOVERY_SECONDS = 180;
const REPEATS = { ours: 30, reference: 5 };
/** Through port-forwards of one API server. */
const RATE = 2000;

/** Cases that have pods at the same time. One is struck while the pods of others are recreated, which takes most of a round. */
const AT_A_TIME = 3;
const striking = new Semaphore(1);

const idsOf = ({ id }: Case): string[] => [`${id}-lost`, `${id}-served`];

export const crash: Benchmark = {
  title: "A crash of a server in a pod, beside pods that start without asking",
  ids: CASES.flatMap(idsOf),
  missing: NO_KUBERNETES,
  run: async (context) => {
    const cases = new Semaphore(AT_A_TIME);
    const wanted = CASES.filter((each) => idsOf(each).some((id) => context.wanted.has(id)));
    await allInOrder(wanted.map((each) => cases.run(() => measure(each, context))));
  },
};

async function measure(each: Case, context: BenchmarkContext): Promise<void> {
  const ours = await runCase(each, REPEATS.ours, undefined, context);
  // What others lose may keep them from ever recovering. With Sentinels no server starts without asking them.
  const isComparable = each.kind.sentinel === undefined;
  const reference = !isComparable
    ? undefined
    : await runCase(each, REPEATS.reference, startingAtOnce, context).catch((error: unknown) => {
        context.signal.throwIfAborted();
        context.report(`${each.id}: the reference ended with ${messageOf(error)}`);
        return undefined;
      });
  const { id, what, served = STATED } = each;
  const times = `${REPEATS.ours} times, ${RATE} writes/s`;
  const beside = `reference: servers that start without asking, ${REPEATS.reference} times`;
  const row = (kind: string, figure: string, unit: string, target: RowTarget, of: (runs: Runs) => number): BenchRow => {
    const head = { id: `${id}-${kind}`, what: `${what}, ${times}: ${figure}; ${beside}`, unit };
    return singleRow(head, of(ours), target, reference === undefined ? null : of(reference));
  };
  context.emit(
    row("lost", "writes that WAIT 1 acknowledged and that are lost", "‰", atMost(0), lostPerThousand),
    row("served", "longest time until all writes are served", "s", served, longestOutage),
  );
}

interface Runs {
  /** Writes wait for a replica: what a replica had is what must not be lost. */
  readonly waiting: readonly ScenarioRecord[];
  /** Writes wait for none: after a failover there is no replica until the server is back. */
  readonly plain: readonly ScenarioRecord[];
}

async function runCase(
  { id, kind, settings, ephemeral = false, fault, Injector }: Case,
  repeats: number,
  change: ((object: KubernetesObject) => KubernetesObject) | undefined,
  { report, signal }: BenchmarkContext,
): Promise<Runs> {
  const name = change === undefined ? "asking" : "plain";
  const own = kind.mode === "cluster" ? { ...COMMON, ...CLUSTER_SETTINGS } : COMMON;
  const pods = await DeployedPods.open(name, kind, { settings: { ...own, ...settings }, ephemeral, change });
  const crashed = new Set<string>();
  let rounds = 0;
  /**
   * All primaries. The first one is struck, and has not crashed before: a kubelet waits longer before each further start of a container.
   * Each shard is struck in turn, so that pods that have crashed are replicas when they are made again.
   */
  const freshPrimaries = async (): Promise<string[]> => {
    const { primaries: shards } = kind.shape;
    const rotated = (primaries: readonly string[]): string[] => {
      const first = rounds % shards;
      return [...primaries.slice(first), ...primaries.slice(0, first)];
    };
    let primaries = rotated(await pods.primaries());
    if (crashed.has(primaries[0] ?? "") || crashed.size >= nodeCount(kind.shape) / 2) {
      await pods.renew([...crashed]);
      crashed.clear();
      primaries = rotated(await pods.primaries());
    }
    rounds++;
    return primaries;
  };
  const once = async (formed: FaultSubject, replicas: 0 | 1): Promise<ScenarioRecord> => {
    // Each round begins with the roles that the last one has left.
    const subject = { ...formed, initialPrimaries: await freshPrimaries() };
    // If data grew from round to round, the kernel would kill servers for their memory.
    await pods.flush();
    const run = { fault, load: writeLoad(RATE, replicas), recoveryTimeoutSeconds: RECOVERY_SECONDS };
    const [record] = await striking.run(() => runFault(subject, run, signal));
    if (record === undefined) throw new Failure(`${id}: the scenario did not run`);
    if (record.unread > 0) throw new Failure(`${id}: ${record.unread} keys could not be read back`);
    const { outage, writes, lost } = record;
    report(
      `${id} ${name}, WAIT ${replicas}: ${seconds(outage.overMs).toFixed(1)} s, ${writes.failed} failed, ${lost.count} lost`,
    );
    if (subject.injector instanceof ProcessCrashInjector) for (const each of record.victims) crashed.add(each);
    return record;
  };
  try {
    const subject = await pods.subject(Injector);
    const runs = { waiting: [] as ScenarioRecord[], plain: [] as ScenarioRecord[] };
    for (let round = 1; round <= repeats; round++) {
      runs.waiting.push(await once(subject, 1));
      runs.plain.push(await once(subject, 0));
    }
    return runs;
  } finally {
    await pods.close();
  }
}

/** Starts a server of replication as pod 0 or as its replica, whatever others have. */
const BY_NUMBER = 'case $POD_NAME in *-0) exec "$@" ;; *) exec "$@" --replicaof "$PRIMARY_SERVICE" 6379 ;; esac';
/** `sh SCRIPT SECONDS`, before the server's command line. */
const SCRIPT_WORDS = 3;

function startingAtOnce(object: KubernetesObject): KubernetesObject {
  if (object.kind !== "StatefulSet") return object;
  const copy = structuredClone(object) as KubernetesObject & {
    readonly spec: { readonly template: { readonly spec: { readonly containers: { command?: string[] }[] } } };
  };
  for (const container of copy.spec.template.spec.containers) {
    const [shell = "", script = "", ...words] = container.command ?? [];
    const program = words.slice(SCRIPT_WORDS - 2);
    if (script.endsWith("/start-cluster.sh")) container.command = program;
    if (script.endsWith("/start-replication.sh")) container.command = [shell, "-c", BY_NUMBER, shell, ...program];
  }
  return copy;
}

/** Where writes failed to the end, the time that recovery may take. */
const seconds = (ms: number | null): number => (ms === null ? RECOVERY_SECONDS : ms / 1000);

function longestOutage({ plain }: Runs): number {
  return Math.max(...plain.map(({ outage }) => seconds(outage.overMs)));
}

function lostPerThousand({ waiting }: Runs): number {
  const lost = sumOf(waiting, (record) => record.lost.count);
  return (1000 * lost) / sumOf(waiting, ({ writes }) => writes.acknowledged);
}
