/** Disturbances that a controller must not answer, and a day of faults one after the other in which nobody helps. */
import type { V1Pod } from "@kubernetes/client-node";
import { Failure } from "../../lib/errors";
import { groupBy } from "../../lib/group-by";
import { holdsInTime } from "../../lib/polling";
import { setTimeout as sleep } from "node:timers/promises";
import { type DeployedPods, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import type { Benchmark } from "../workbench";
import type { Scene, Shard } from "../controlled";
import {
  DURABLE,
  inRounds,
  moveReplica,
  sceneOf,
  shardOf,
  untilHealthy,
  untilReplaced,
  withController,
} from "../controlled";
import { CLUSTER, KernelFaults, MISSING_KERNEL } from "../fault-driver";
import { atMost, singleRow } from "../row";

const ROUNDS = 100;
const SECONDS = [1, 3, 8, 20, 45, 2, 60];
const READY_SECONDS = 120;
/** Events of a controller that has changed a deployment, or has tried to. A restart of its pod resets its metrics. */
const ANSWER = /^(Repaired|RepairFailed|Replaced|TookOver): /;

type Disturbance = (scene: Scene) => Promise<unknown>;

const named = (pods: readonly V1Pod[], ...names: readonly (string | undefined)[]): V1Pod[] =>
  pods.filter(({ metadata }) => names.includes(metadata?.name));
const chosen = ({ shards, round }: Scene): Shard | undefined => shards[round % shards.length];

/** All pods of the deployment on a machine, and the controller if it is there. */
function onMachine({ servers, controllers, round }: Scene, next = 0): readonly V1Pod[] {
  const machines = [...groupBy([...servers, ...controllers], ({ spec }) => spec?.nodeName).values()];
  return machines[(round + next) % machines.length] ?? [];
}

async function cutFor({ faults, seconds }: Scene, left: readonly V1Pod[], right: readonly V1Pod[]): Promise<void> {
  await faults.cut(left, right);
  await sleep(seconds * 1000);
}

/** Cuts pods off from the other servers, and from the controller in every second round. */
function cutOff(scene: Scene, ...names: readonly (string | undefined)[]): Promise<void> {
  const { servers, controllers, round } = scene;
  const cut = named(servers, ...names);
  const others = servers.filter((pod) => !cut.includes(pod));
  return cutFor(scene, cut, [...others, ...(round % 2 === 0 ? controllers : [])]);
}

const DISTURBANCES: readonly (readonly [what: string, disturb: Disturbance])[] = [
  ["a replica is frozen", (scene) => scene.faults.freeze(named(scene.servers, chosen(scene)?.replica), scene.seconds)],
  ["a primary is frozen", (scene) => scene.faults.freeze(named(scene.servers, chosen(scene)?.primary), scene.seconds)],
  ["a machine is frozen", (scene) => scene.faults.freeze(onMachine(scene), scene.seconds)],
  ["two machines are cut off from each other", (scene) => cutFor(scene, onMachine(scene), onMachine(scene, 1))],
  ["a primary is cut off", (scene) => cutOff(scene, chosen(scene)?.primary)],
  ["most primaries are cut off", (scene) => cutOff(scene, ...scene.shards.slice(0, 2).map(({ primary }) => primary))],
  ["the controller is cut off from the API server", cutController],
  ["the pod of a replica restarts", restart("replica")],
  ["the pod of a primary restarts", restart("primary")],
  ["the pod of a primary is evicted", evict],
  ["a primary is busy", occupy],
];

export const leftAlone: Benchmark = {
  title: "Disturbances that a controller leaves alone",
  ids: ["left-alone-repairs", "left-alone-takeovers"],
  missing: MISSING_KERNEL,
  run: async (context) => {
    let done = 0;
    /** Events of repairs and takeovers. The API server keeps an event for an hour, which is less than the row may take. */
    const answers = new Set<string>();
    const own = {
      name: "undisturbed",
      kind: CLUSTER,
      settings: DURABLE,
      args: { onLostMajority: "takeover" } as const,
    };
    await withController(own, async (controlled) => {
      const { pods } = controlled;
      const faults = await KernelFaults.open(own.name);
      done = await inRounds(ROUNDS, faults, context, async (round) => {
        const [what, disturb] = DISTURBANCES[round % DISTURBANCES.length] ?? [];
        const seconds = SECONDS[round % SECONDS.length] ?? 1;
        await disturb?.(await sceneOf(controlled, faults, round, seconds));
        await faults.heal();
        await pods.here.untilReady(podLabels(own.name), 6, READY_SECONDS);
        await pods.verified();
        for (const event of await controlled.events()) if (ANSWER.test(event)) answers.add(event);
        return `${what ?? ""} (${seconds} s where it lasts); ${[...answers].join("; ") || "no repair, no takeover"}`;
      });
    });
    const during = `of a cluster during ${done} disturbances: freezes, cuts, restarts, evictions, busy servers`;
    const takeovers = [...answers].filter((event) => event.startsWith("TookOver: ")).length;
    const row = (unit: string, count: number): ReturnType<typeof singleRow> =>
      singleRow({ id: `left-alone-${unit}`, what: `${unit} ${during}`, unit }, count, atMost(0));
    context.emit(row("repairs", answers.size - takeovers), row("takeovers", takeovers));
  },
};

async function cutController({ controllers, faults, seconds }: Scene): Promise<void> {
  await faults.cutFromApiServer(controllers);
  await sleep(seconds * 1000);
}

function restart(role: keyof Shard): Disturbance {
  return (scene) => {
    const { pods } = scene.controlled;
    const { core, namespace } = pods.here;
    const name = chosen(scene)?.[role] ?? "";
    return untilReplaced(pods, name, READY_SECONDS, () => core.deleteNamespacedPod({ namespace, name }));
  };
}

/** Ends a pod as a drain of its machine does. */
function evict(scene: Scene): Promise<void> {
  const { pods } = scene.controlled;
  const name = chosen(scene)?.primary ?? "";
  return untilReplaced(pods, name, READY_SECONDS, () => pods.here.evict(name));
}

/** Keeps a primary busy for a second or two; meanwhile it answers nobody. */
async function occupy(scene: Scene): Promise<void> {
  const node = chosen(scene)?.primary;
  const script = "for i = 1, 200000000 do end return 'done'";
  const said = await scene.controlled.pods.withNodes((at) => at(node).call("EVAL_RO", script, "0"));
  if (said !== "done") throw new Failure(`${node ?? "no primary"} was not busy`);
}

const SOAKED = "soaked";
/** Faults: one every 24 minutes of a day. */
const SOAK_ROUNDS = 60;
const KEYS_PER_ROUND = 50;
/** After a cut, TCP sends again only after a while that grows with the length of the cut. */
const COPIED_MS = 60_000;
/** Longest wait of one command. A connection gives up a command that takes longer than its time limit. */
const WAIT_MS = 1000;
/** A deployment that takes longer until it passes would need a hand. */
const SERVED_MS = 600_000;
const MOST_SECONDS = 30;

const FAULTS: readonly (readonly [what: string, strike: Disturbance])[] = [
  ...DISTURBANCES,
  ["a replica follows the wrong primary", ({ controlled, round }) => moveReplica(controlled, round)],
  ["the server of a primary is killed", killPrimary],
];

async function killPrimary(scene: Scene): Promise<void> {
  const { injector } = await scene.controlled.pods.subject();
  await injector.kill([chosen(scene)?.primary ?? ""]);
}

export const controlledSoak: Benchmark = {
  title: "A day with a controller, compressed",
  ids: ["controlled-soak-seconds", "controlled-soak-keys"],
  missing: MISSING_KERNEL,
  run: async (context) => {
    const written: string[] = [];
    let [rounds, seconds, missing] = [0, 0, 0];
    await withController({ name: SOAKED, kind: CLUSTER, settings: DURABLE, args: {} }, async (controlled) => {
      const { pods } = controlled;
      const faults = await KernelFaults.open(SOAKED);
      const strike = async (round: number): Promise<string> => {
        const [what, fault] = FAULTS[Math.floor(Math.random() * FAULTS.length)] ?? [];
        const lasts = 1 + Math.random() * MOST_SECONDS;
        await fault?.(await sceneOf(controlled, faults, round, lasts));
        return `${what ?? ""} (${lasts.toFixed(0)} s where it lasts)`;
      };
      rounds = await inRounds(SOAK_ROUNDS, faults, context, strike, async (round) => {
        await untilServed(pods);
        written.push(...(await writeKeys(pods, round)));
      });
      const ended = performance.now();
      await untilHealthy(pods);
      seconds = (performance.now() - ended) / 1000;
      missing = await countMissing(pods, written);
      for (const event of await controlled.events()) context.report(event);
    });
    const what = `a cluster with its controller, after ${rounds} random faults`;
    const keys = `${what}: missing of ${written.length} keys that a replica had`;
    const head = { id: "controlled-soak-seconds", what: `${what}: until all assertions hold`, unit: "s" };
    context.emit(
      singleRow(head, seconds, atMost(600)),
      singleRow({ id: "controlled-soak-keys", what: keys, unit: "keys" }, missing, atMost(0)),
    );
  },
};

/** Waits until the deployment serves all slots. Nobody helps it. */
async function untilServed(pods: DeployedPods): Promise<void> {
  const isServed = (): Promise<boolean> =>
    pods.verified().then(
      () => true,
      () => false,
    );
  if (!(await holdsInTime(isServed, { timeoutMs: SERVED_MS, intervalMs: 1000 })))
    throw new Failure(`${SOAKED} does not pass verification`);
}

/** Writes keys to all shards, each to a replica too. @returns the keys */
async function writeKeys(pods: DeployedPods, round: number): Promise<string[]> {
  const keys = Array.from({ length: KEYS_PER_ROUND }, (_, index) => `round-${round}-${Date.now()}-${index}`);
  await withPrimaries(pods, async (primaryOf) => {
    for (const key of keys) {
      await primaryOf(key).set(key, "value");
      const isCopied = async (): Promise<boolean> => (await primaryOf(key).wait(1, WAIT_MS)) >= 1;
      if (!(await holdsInTime(isCopied, { timeoutMs: COPIED_MS, intervalMs: 1 })))
        throw new Failure(`no replica has ${key}`);
    }
  });
  return keys;
}

function countMissing(pods: DeployedPods, keys: readonly string[]): Promise<number> {
  return withPrimaries(pods, async (primaryOf) => {
    const found = await Promise.all(keys.map((key) => primaryOf(key).exists(key)));
    return found.filter((count) => count === 0).length;
  });
}

type Connection = Parameters<Parameters<DeployedPods["withNodes"]>[0]>[1][number];

async function withPrimaries<T>(
  pods: DeployedPods,
  use: (primaryOf: (key: string) => Connection) => Promise<T>,
): Promise<T> {
  const { shards } = (await pods.verified()).verdict;
  return pods.withNodes((at) => use((key) => at(shards[shardOf(shards, key)]?.primary)));
}
