/** Machines whose power is cut and that do not come back: a controller replaces pods, or lets replicas take over. */
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { inspectDeployment } from "../../operations/inspection/drift";
import type { ControllerArgs } from "../../components/kubernetes/arguments";
import { ControlledPods } from "../../tests/support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import { LocalVolumes } from "../../tests/support/kubernetes/local-volumes";
import {
  MACHINE_COMMAND,
  makePrimaries,
  neighboursOfMachines,
  taintOutOfService,
  untilMachineIsDown,
  withCordoned,
  withoutPower,
} from "../../tests/support/kubernetes/machines";
import type { ObservedWrites } from "../../tests/support/kubernetes/observer-main";
import { ThrowAway } from "../../tests/support/kubernetes/throw-away";
import { never } from "../../tests/support/valkey/real";
import { type Benchmark, type BenchmarkContext, NO_KUBERNETES } from "../workbench";
import { atMost, singleRow } from "../row";
import { observe, WRITES_PER_SECOND } from "../controlled";
import { CLUSTER, sumOf } from "../fault-driver";

const DEPLOYMENTS = 2;
const ROUNDS = 5;
/** A controller repairs at most six times an hour, and two pods of each deployment are lost in a round. */
const ROUNDS_PER_CONTROLLER = 3;
const REPLACE_AFTER_SECONDS = 10;
const LIMIT_MS = 300_000;
const POLL_MS = 1000;
/** Time for which clients write after the repair, when the machine is back. */
const AFTER_MS = 3000;
const READY_SECONDS = 300;
const SETTINGS = { save: "", appendonly: true, "cluster-node-timeout": 2000, "repl-diskless-sync-delay": 0 };

interface Outcome {
  readonly seconds: number;
  readonly writes: ObservedWrites;
}

interface Case {
  readonly id: string;
  readonly what: string;
  /** Target of the longest time, seconds. */
  readonly limit: number;
  readonly args: ControllerArgs;
  /** Number of servers of the victim that are primaries in each deployment. @default as it is */
  readonly primaries?: number;
  /** Loses a machine, and gives it back. @returns the seconds of each deployment */
  readonly lose: (scene: Scene) => Promise<number[]>;
  /**
   * Replicas that must have received a write before it counts as acknowledged. A write that only the lost machine has
   * cannot be kept.
   */
  readonly replicas: number;
  readonly hasNeighbour: boolean;
}

interface Scene {
  readonly here: ThrowAway;
  readonly all: readonly ControlledPods[];
  readonly victim: string;
  readonly round: number;
}

const TAKEOVER = { args: { everySeconds: 5, onLostMajority: "takeover" }, hasNeighbour: false } as const;
const CASES: readonly Case[] = [
  {
    ...{ id: "lost-machine", limit: 90, replicas: 0, hasNeighbour: true, lose: loseMachine },
    what: `a machine does not come back, volumes bound to it, waiting time ${REPLACE_AFTER_SECONDS} s: from the cut of its power until all assertions hold`,
    args: { everySeconds: 5, replaceLostMachinesAfterSeconds: REPLACE_AFTER_SECONDS },
  },
  {
    ...{ id: "lost-majority", limit: 20, replicas: 0, primaries: Infinity, lose: loseMajority, ...TAKEOVER },
    what: "the machine of two of three primaries is out of service: from its taint until all slots are served",
  },
  {
    ...{ id: "lost-restarted", limit: 30, replicas: 1, primaries: 1, lose: loseRestarted, ...TAKEOVER },
    what: "the only replica of a shard restarts while the machine of its primary is lost: from the taint out-of-service until all slots are served",
  },
];

export const lostMachines: readonly Benchmark[] = CASES.map((each) => ({
  title: "Machines that do not come back",
  ids: [`${each.id}-seconds`, `${each.id}-lost`],
  missing: MACHINE_COMMAND === undefined ? "VALKEY_TEST_MACHINE_COMMAND is not set" : NO_KUBERNETES,
  run: (context) => measure(each, context),
}));

async function measure(each: Case, { report, emit, signal }: BenchmarkContext): Promise<void> {
  const here = await ThrowAway.open();
  const volumes = await LocalVolumes.open(here, DEPLOYMENTS * 2 * ROUNDS);
  const neighbours = await neighboursOfMachines(here);
  const machines = [...neighbours].find(([, others]) => others.length > 0 === each.hasNeighbour);
  if (machines === undefined) throw new Failure("no zone has as many machines as this row needs");
  const zone = [machines[0], ...machines[1]];
  let victim = machines[0];
  const all: ControlledPods[] = [];
  const observers: Awaited<ReturnType<typeof observe>>[] = [];
  const outcomes: Outcome[] = [];
  try {
    // All pods of the zone start on the victim.
    const deployed = await withCordoned(here, machines[1], async () => {
      const pods: DeployedPods[] = [];
      const change = each.hasNeighbour ? volumes.claimedBy : undefined;
      while (pods.length < DEPLOYMENTS)
        pods.push(await DeployedPods.open(`lost-${pods.length}`, CLUSTER, { settings: SETTINGS, change }, here));
      return pods;
    });
    await withCordoned(here, zone, async () => {
      for (const pods of deployed) all.push(await ControlledPods.open(pods, each.args));
      for (const pods of deployed) observers.push(await observe(pods, each.replicas));
    });
    for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
      if (round > 0 && round % ROUNDS_PER_CONTROLLER === 0)
        await withCordoned(here, zone, () => Promise.all(all.map((controlled) => controlled.renew())));
      await Promise.all(all.map((controlled) => controlled.untilLook(180, ({ pass }) => pass)));
      const { primaries } = each;
      if (primaries !== undefined) await Promise.all(all.map(({ pods }) => makePrimaries(pods, victim, primaries)));
      let losing: Promise<number[]> | undefined;
      const lose = (): Promise<number[]> => (losing ??= each.lose({ here, all, victim, round }));
      const writes = await Promise.all(observers.map((observer) => observer.during(lose, AFTER_MS)));
      const seconds = await lose();
      await Promise.all(all.map(({ pods }) => here.untilReady(podLabels(pods.target.name), 6, READY_SECONDS)));
      for (const [index, took] of seconds.entries()) {
        const own = writes[index];
        if (own === undefined) throw new Error("no writes were observed");
        outcomes.push({ seconds: took, writes: own });
        const { acknowledged, failed, lost } = own;
        report(
          `${each.id}, round ${round + 1}, ${victim}: ${took.toFixed(1)} s, ${lost} lost of ${acknowledged} acknowledged writes, ${failed} failed`,
        );
      }
      victim = neighbours.get(victim)?.[0] ?? victim;
    }
  } finally {
    // Each of these removes the namespace, and the others then find it gone.
    for (const each of [...all, here]) await each.close().catch(() => undefined);
    await volumes.close();
  }
  const { id, what: lost, limit, replicas } = each;
  const longest = Math.max(...outcomes.map((outcome) => outcome.seconds));
  const what = `${lost}, ${outcomes.length} times, ${DEPLOYMENTS} clusters at once, each under ${WRITES_PER_SECOND} writes/s`;
  const writes = `${what}: writes lost that WAIT ${replicas} acknowledged`;
  const missing = sumOf(outcomes, (outcome) => outcome.writes.lost);
  emit(
    singleRow({ id: `${id}-seconds`, what: `${what}: longest`, unit: "s" }, longest, atMost(limit)),
    singleRow({ id: `${id}-lost`, what: writes, unit: "writes" }, missing, atMost(0)),
  );
}

function secondsUntil(
  all: readonly ControlledPods[],
  since: number,
  isWell: (pods: DeployedPods) => Promise<boolean>,
): Promise<number[]> {
  return Promise.all(
    all.map(async ({ pods }) => {
      if (await holdsInTime(() => isWell(pods), { timeoutMs: LIMIT_MS, intervalMs: POLL_MS }))
        return (performance.now() - since) / 1000;
      throw new Failure(`${pods.target.namespace}/${pods.target.name} is not repaired`);
    }),
  );
}

/** In every second round, the Node object goes too. Gives the machine back when all assertions hold without it. */
function loseMachine({ here, all, victim, round }: Scene): Promise<number[]> {
  return withoutPower(here, victim, async () => {
    const began = performance.now();
    if (round % 2 === 1) {
      await untilMachineIsDown(here, victim);
      await here.core.deleteNode({ name: victim });
    }
    return secondsUntil(all, began, async ({ target, password }) => {
      const pods = await here.pods(podLabels(target.name));
      if (pods.some(({ spec }) => spec?.nodeName === victim)) return false;
      const { verification } = await inspectDeployment(target, password, { signal: never });
      return verification?.verdict.pass === true;
    });
  });
}

async function loseMajority({ here, all, victim }: Scene): Promise<number[]> {
  try {
    return await withoutPower(here, victim, async () => {
      await untilMachineIsDown(here, victim);
      await taintOutOfService(here, victim, true);
      return secondsUntil(all, performance.now(), (pods) => isServed(pods, victim));
    });
  } finally {
    await taintOutOfService(here, victim, false);
  }
}

/** Deletes the replicas whose primaries are on the machine, and then loses the machine before they run again. */
async function loseRestarted(scene: Scene): Promise<number[]> {
  for (const { pods } of scene.all) {
    const { facts, verdict } = await pods.verified();
    const lost = facts.nodes.filter(({ node }) => node.machine === scene.victim).map(({ node }) => node.name);
    const { namespace } = pods.target;
    for (const { primary = "", replicas } of verdict.shards)
      for (const name of lost.includes(primary) ? replicas : [])
        await scene.here.core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 });
  }
  return loseMajority(scene);
}

async function isServed({ here, target: { name, container } }: DeployedPods, victim: string): Promise<boolean> {
  const survivor = (await here.pods(podLabels(name))).find(({ spec }) => spec?.nodeName !== victim);
  const script = '. /valkey/scripts/node.sh; echo "CLUSTER INFO" | tell localhost 5';
  return (await here.run(survivor?.metadata?.name ?? "", container, script)).includes("cluster_state:ok");
}
