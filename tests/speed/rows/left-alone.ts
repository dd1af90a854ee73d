/** Disturbances that end by themselves, and that the controller must not answer. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../../lib/errors";
import { groupBy } from "../../../lib/group-by";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { freezePods, KernelFaults, MISSING_KERNEL } from "../../support/kubernetes/kernel-faults";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { measureOrSkip } from "../benchmark";
import { atMost, singleRow } from "../row";
import type { Shard } from "./heal";
import { CLUSTER, shardsOf } from "./heal";

const REPAIRS = "left-alone-repairs";
const TAKEOVERS = "left-alone-takeovers";
const NAME = "undisturbed";
const ROUNDS = 100;
/** How long freezes and cuts last, in turn. */
const SECONDS = [1, 3, 8, 20, 45, 2, 60];
const READY_SECONDS = 120;
/** Disturbances that may be made again because this process could not ask the deployment. */
const MOST_INTERRUPTIONS = 10;
const INTERRUPTION_MS = 20_000;
/** Events of a controller that has changed a deployment, or has tried to. A restart of its pod resets its metrics. */
const ANSWER = /^(Repaired|RepairFailed|Replaced|TookOver): /;
const isTakeover = (event: string): boolean => event.startsWith("TookOver: ");
const isRepair = (event: string): boolean => !isTakeover(event);

export interface Scene {
  readonly controlled: ControlledPods;
  readonly faults: KernelFaults;
  readonly shards: readonly Shard[];
  readonly round: number;
  /** Time for which the disturbance lasts. */
  readonly seconds: number;
}
export type Disturbance = (scene: Scene) => Promise<void>;

export const DISTURBANCES: readonly (readonly [what: string, disturb: Disturbance])[] = [
  ["a replica is frozen", freeze(({ shards, round }) => [shards[round % shards.length]?.replica])],
  ["a primary is frozen", freeze(({ shards, round }) => [shards[round % shards.length]?.primary])],
  ["a machine is frozen", freezeMachine],
  ["two machines are cut off from each other", cutMachines],
  ["a primary is cut off", cut(({ shards, round }) => [shards[round % shards.length]?.primary])],
  ["most primaries are cut off", cut(({ shards }) => shards.slice(0, 2).map(({ primary }) => primary))],
  ["the controller is cut off from the API server", cutController],
  ["the pod of a replica restarts", restart("replica")],
  ["the pod of a primary restarts", restart("primary")],
  ["the pod of a primary is evicted", evict],
  ["a primary is busy", occupy],
];

export const leftAlone: Benchmark = {
  title: "Disturbances that a controller leaves alone",
  ids: [REPAIRS, TAKEOVERS],
  run: (context) => measureOrSkip(context, [REPAIRS, TAKEOVERS], MISSING_KERNEL, measure),
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open(NAME, CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, { onLostMajority: "takeover" });
  let done = 0;
  /** Events of repairs and takeovers. The API server keeps an event for an hour, which is less than the row may take. */
  const answers = new Set<string>();
  const countOf = (isWanted: (event: string) => boolean): number => [...answers].filter(isWanted).length;
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const faults = await KernelFaults.open(NAME);
    for (let interruptions = 0; done < ROUNDS && !signal.aborted;) {
      const [what, disturb] = DISTURBANCES[done % DISTURBANCES.length] ?? [];
      const seconds = SECONDS[done % SECONDS.length] ?? 1;
      try {
        const shards = await shardsOf(pods);
        await disturb?.({ controlled, faults, shards, round: done, seconds });
        await faults.heal();
        await pods.here.untilReady(podLabels(pods.target.name), 6, READY_SECONDS);
        await pods.verified();
      } catch (error) {
        // On a busy machine, the API server may not answer for a while. This disturbance is made again.
        signal.throwIfAborted();
        if (++interruptions > MOST_INTERRUPTIONS) throw error;
        report(`interrupted: ${messageOf(error)}`);
        await sleep(INTERRUPTION_MS, undefined, { signal });
        continue;
      } finally {
        await faults.heal();
      }
      done++;
      for (const event of await controlled.events()) if (ANSWER.test(event)) answers.add(event);
      report(
        `${done}: ${what ?? ""} (${seconds} s where it lasts); ${[...answers].join("; ") || "no repair, no takeover"}`,
      );
    }
    const during = `of a cluster during ${done} disturbances: freezes, cuts, restarts, evictions, busy servers`;
    const rows = [
      singleRow({ id: REPAIRS, what: `repairs ${during}`, unit: "repairs" }, countOf(isRepair), atMost(0)),
      singleRow({ id: TAKEOVERS, what: `takeovers ${during}`, unit: "takeovers" }, countOf(isTakeover), atMost(0)),
    ];
    for (const row of rows) if (wanted.has(row.id)) emit(row);
  } finally {
    await controlled.close();
  }
}

/** @param choose names of pods */
function freeze(choose: (scene: Scene) => readonly (string | undefined)[]): Disturbance {
  return async (scene) => {
    const names = choose(scene);
    const pods = (await podsOf(scene)).filter(({ metadata }) => names.includes(metadata?.name));
    await freezePods(pods, () => sleep(scene.seconds * 1000));
  };
}

/** Freezes all pods of the deployment on a machine, and the controller if it is there. */
async function freezeMachine(scene: Scene): Promise<void> {
  const pods = [...(await podsOf(scene)), ...(await scene.controlled.controllerPods())];
  const machines = [...groupBy(pods, ({ spec }) => spec?.nodeName).values()];
  await freezePods(machines[scene.round % machines.length] ?? [], () => sleep(scene.seconds * 1000));
}

async function cutMachines(scene: Scene): Promise<void> {
  const pods = [...(await podsOf(scene)), ...(await scene.controlled.controllerPods())];
  const machines = [...groupBy(pods, ({ spec }) => spec?.nodeName).values()];
  const [left = [], right = []] = [
    machines[scene.round % machines.length],
    machines[(scene.round + 1) % machines.length],
  ];
  await scene.faults.cut(addresses(left), addresses(right));
  await sleep(scene.seconds * 1000);
}

/** Cuts pods off from the other servers, and from the controller in every second round. @param choose their names */
function cut(choose: (scene: Scene) => readonly (string | undefined)[]): Disturbance {
  return async (scene) => {
    const names = choose(scene);
    const pods = await podsOf(scene);
    const isCut = ({ metadata }: V1Pod): boolean => names.includes(metadata?.name);
    const controllers = scene.round % 2 === 0 ? await scene.controlled.controllerPods() : [];
    const others = [...pods.filter((pod) => !isCut(pod)), ...controllers];
    await scene.faults.cut(addresses(pods.filter(isCut)), addresses(others));
    await sleep(scene.seconds * 1000);
  };
}

async function cutController({ controlled, faults, seconds }: Scene): Promise<void> {
  for (const address of addresses(await controlled.controllerPods())) await faults.cutFromApiServer(address);
  await sleep(seconds * 1000);
}

const podsOf = ({ controlled: { pods } }: Scene): Promise<V1Pod[]> => pods.here.pods(podLabels(pods.target.name));

const addresses = (pods: readonly V1Pod[]): string[] => pods.flatMap(({ status }) => status?.podIP ?? []);

function restart(role: keyof Shard): Disturbance {
  return (scene) =>
    untilReplaced(scene, scene.shards[scene.round % scene.shards.length]?.[role] ?? "", ({ here }, name) =>
      here.core.deleteNamespacedPod({ namespace: here.namespace, name }),
    );
}

/** Ends a pod as a drain of its machine does. */
function evict(scene: Scene): Promise<void> {
  const pod = scene.shards[scene.round % scene.shards.length]?.primary ?? "";
  return untilReplaced(scene, pod, ({ here: { core, namespace } }, name) =>
    core.createNamespacedPodEviction({ namespace, name, body: { metadata: { name, namespace } } }),
  );
}

async function untilReplaced(
  { controlled: { pods } }: Scene,
  name: string,
  end: (pods: DeployedPods, name: string) => Promise<unknown>,
): Promise<void> {
  const { namespace, core } = pods.here;
  const before = (await core.readNamespacedPod({ namespace, name })).metadata?.uid;
  await end(pods, name);
  await pods.here.until(READY_SECONDS, async () => {
    const gone = (await pods.here.pods(podLabels(pods.target.name))).every(({ metadata }) => metadata?.uid !== before);
    return gone ? undefined : `${name} is still there`;
  });
}

/** Keeps a primary busy for a second or two; meanwhile it answers nobody. */
async function occupy({ controlled: { pods }, shards, round }: Scene): Promise<void> {
  const node = shards[round % shards.length]?.primary;
  const script = "for i = 1, 200000000 do end return 'done'";
  const said = await pods.withNodes((at) => at(node).call("EVAL_RO", script, "0"));
  if (said !== "done") throw new Failure(`${node ?? "no primary"} was not busy`);
}
