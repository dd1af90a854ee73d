/** The end of a server in a pod that nobody planned, beside pods that start without asking their replicas. */
import type { Fault } from "../../../faults/plan/fault";
import type { Scenario } from "../../../faults/plan/scenario";
import { runScenarios } from "../../../faults/scenarios/run-scenarios";
import { allInOrder } from "../../../lib/all-in-order";
import { Failure, messageOf } from "../../../lib/errors";
import { Semaphore } from "../../../lib/semaphore";
import type { FaultSubject, ScenarioResult } from "../../../faults/scenarios/scenario-run";
import { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { nodeCount } from "../../../valkey/topology/placement";
import type { PodsKind } from "../../support/kubernetes/deployed-pods";
import { DeployedPods, LostSentinelsInjector, ProcessCrashInjector } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { RowTarget } from "../row";
import { atMost, singleRow } from "../row";

type ScenarioRecord = ScenarioResult["record"];

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

const CLUSTER: PodsKind = { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } };
const REPLICATION: PodsKind = { mode: "replication", shape: { primaries: 1, replicasPerPrimary: 2 } };
const SENTINELS: PodsKind = {
  ...REPLICATION,
  sentinel: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 },
};

const NO_PERSISTENCE: ServerSettings = { save: "" };
const APPEND_ONLY: ServerSettings = { save: "", appendonly: true };
const PERSISTENCE: readonly (readonly [id: string, what: string, settings: ServerSettings])[] = [
  ["none", "no persistence", NO_PERSISTENCE],
  ["save", "default snapshots", {}],
  ["aof", "append-only file", APPEND_ONLY],
];
const KILL: Fault = { kind: "kill-primary", restart: "served" };
const PROCESS = { fault: KILL, Injector: ProcessCrashInjector };
/** Cases in which the process of a primary dies, one for each persistence. */
const processCases = (id: string, what: string, kind: PodsKind, served?: RowTarget): Case[] =>
  PERSISTENCE.map(([own, how, settings]) => ({
    ...{ id: `crash-${id}-${own}`, what: `the process of ${what}, ${how}`, kind, settings, ...PROCESS },
    ...(served === undefined ? {} : { served }),
  }));
const CASES: readonly Case[] = [
  ...processCases("process", "a cluster's primary", CLUSTER, atMost(3)),
  {
    id: "crash-process-ephemeral",
    what: "the process of a cluster's primary, no volumes",
    kind: CLUSTER,
    settings: NO_PERSISTENCE,
    ephemeral: true,
    ...PROCESS,
    served: atMost(3),
  },
  {
    id: "crash-pod",
    what: "the pod of a cluster's primary, deleted without grace, no persistence",
    kind: CLUSTER,
    settings: NO_PERSISTENCE,
    fault: KILL,
    Injector: PodFaultInjector,
    served: atMost(5),
  },
  {
    id: "crash-all-pods",
    what: "all pods of a cluster at once, append-only file",
    kind: CLUSTER,
    settings: APPEND_ONLY,
    fault: { kind: "kill-all", newAddresses: true },
    Injector: PodFaultInjector,
  },
  ...processCases("replication", "the primary without Sentinels", REPLICATION),
  ...processCases("sentinels", "the primary with Sentinels", SENTINELS, atMost(3)),
  {
    id: "crash-all-sentinels",
    what: "all Sentinels, then the process of the primary, default snapshots",
    kind: SENTINELS,
    settings: {},
    fault: KILL,
    Injector: LostSentinelsInjector,
  },
];

const COMMON: ServerSettings = { "repl-diskless-sync-delay": 0 };
const CLUSTER_SETTINGS: ServerSettings = { "cluster-node-timeout": 5000 };
const RECOVERY_SECONDS = 180;
const REPEATS = { ours: 30, reference: 5 };
/** Through port-forwards of one API server. */
const RATE = 2000;
const load = (replicas: number): Scenario["load"] => ({
  ...{ rate: RATE, bytes: 64, timeoutMs: 3000 },
  acknowledgement: { replicas, timeoutMs: 1000 },
});

/** Cases that have pods at the same time. One is struck while the pods of others are recreated, which takes most of a round. */
const AT_A_TIME = 3;
const striking = new Semaphore(1);

const lostId = (id: string): string => `${id}-lost`;
const servedId = (id: string): string => `${id}-served`;
const idsOf = ({ id }: Case): string[] => [lostId(id), servedId(id)];

export const crash: Benchmark = {
  title: "A crash of a server in a pod, beside pods that start without asking",
  ids: CASES.flatMap(idsOf),
  run: async (context) => {
    const wanted = CASES.filter((each) => idsOf(each).some((id) => context.wanted.has(id)));
    if (KUBECONFIG === undefined) {
      for (const id of wanted.flatMap(idsOf))
        if (context.wanted.has(id)) context.skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
      return;
    }
    const cases = new Semaphore(AT_A_TIME);
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
        context.workbench.signal.throwIfAborted();
        context.report(`${each.id}: the reference ended with ${messageOf(error)}`);
        return undefined;
      });
  const { id, what, served = STATED } = each;
  const emit = (row: string, figure: string, unit: string, target: RowTarget, of: (runs: Runs) => number): void => {
    if (!context.wanted.has(row)) return;
    const times = `${REPEATS.ours} times, ${RATE} writes/s`;
    const beside = `reference: servers that start without asking, ${REPEATS.reference} times`;
    const head = { id: row, what: `${what}, ${times}: ${figure}; ${beside}`, unit };
    context.emit({ ...singleRow(head, of(ours), target), reference: reference === undefined ? null : of(reference) });
  };
  emit(lostId(id), "writes that WAIT 1 acknowledged and that are lost", "‰", atMost(0), lostPerThousand);
  emit(servedId(id), "longest time until all writes are served", "s", served, longestOutage);
}

/** No target: the figure is stated. */
const STATED: RowTarget = { text: "stated", holds: () => true };

/** Runs of a case. */
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
  { report, workbench: { signal } }: BenchmarkContext,
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
  const once = async (formed: FaultSubject, replicas: number): Promise<ScenarioRecord> => {
    // Each round begins with the roles that the last one has left.
    const subject = { ...formed, initialPrimaries: await freshPrimaries() };
    // If data grew from round to round, the kernel would kill servers for their memory.
    await pods.flush();
    const scenario: Scenario = {
      ...{ name: fault.kind, fault, load: load(replicas), settings: new Map(), repair: true },
      ...{ beforeSeconds: 1, afterSeconds: 0.3, recoveryTimeoutSeconds: RECOVERY_SECONDS },
    };
    let record: ScenarioRecord | undefined;
    const onResult = (result: ScenarioResult): void => void (record = result.record);
    await striking.run(async () => {
      signal.throwIfAborted();
      await runScenarios([{ scenario, repeats: 1, subject }], { signal, report: () => undefined, onResult });
    });
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
/** `sh SCRIPT SECONDS PATIENCE`, before the server's command line. */
const SCRIPT_WORDS = 4;

/** The same pods without the script that asks. */
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
  const sum = (figure: (record: ScenarioRecord) => number): number =>
    waiting.reduce((total, record) => total + figure(record), 0);
  return (1000 * sum(({ lost }) => lost.count)) / sum(({ writes }) => writes.acknowledged);
}
