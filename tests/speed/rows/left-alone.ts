/** Disturbances that end by themselves, and that the controller must not answer. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import { Failure, messageOf } from "../../../lib/errors";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, shardsOf } from "./heal";

const REPAIRS = "left-alone-repairs";
const TAKEOVERS = "left-alone-takeovers";
const DISTURBANCES = 100;
const READY_SECONDS = 120;
/** Shorter than the time after which nodes hold a node for failed, milliseconds. */
const SHORT_MS = 2_000;
/** Disturbances that may be made again because this process could not ask the deployment. */
const MOST_INTERRUPTIONS = 10;
const INTERRUPTION_MS = 20_000;

interface Scene {
  readonly pods: DeployedPods;
  readonly injector: PodFaultInjector;
  readonly primary: string;
  readonly replica: string;
  /** Different in each round. */
  readonly seconds: number;
}

/** Cuts off the primaries of two shards out of three: the nodes that are left can elect nobody. */
async function cutMajority({ pods, injector, seconds }: Scene): Promise<void> {
  const shards = await shardsOf(pods);
  await injector.cut(shards.slice(0, 2).map(({ primary }) => primary));
  await sleep(seconds * 1000);
  await injector.restore();
}

const KINDS: readonly (readonly [what: string, disturb: (scene: Scene) => Promise<void>])[] = [
  ["a replica is cut off", ({ injector, replica, seconds }) => cut(injector, replica, seconds * 1000)],
  ["a primary is cut off for a moment", ({ injector, primary }) => cut(injector, primary, SHORT_MS)],
  ["the pod of a replica restarts", ({ pods, replica }) => restart(pods, replica)],
  ["the pod of a primary restarts", ({ pods, primary }) => restart(pods, primary)],
  ["a primary is busy", ({ pods, primary }) => occupy(pods, primary)],
  ["a replica is busy", ({ pods, replica }) => occupy(pods, replica)],
  ["most primaries are cut off", cutMajority],
];

export const leftAlone: Benchmark = {
  title: "Disturbances that a controller leaves alone",
  ids: [REPAIRS, TAKEOVERS],
  run: async (context) => {
    const ids = [REPAIRS, TAKEOVERS].filter((id) => context.wanted.has(id));
    if (ids.length === 0) return;
    if (KUBECONFIG === undefined)
      for (const id of ids) context.skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
    else await measure(context);
  },
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open("undisturbed", CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, { onLostMajority: "takeover" });
  let done = 0;
  const takeovers = new Set<string>();
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const { injector } = await pods.subject();
    for (let interruptions = 0; done < DISTURBANCES && !signal.aborted;) {
      try {
        const shards = await shardsOf(pods);
        const { primary, replica } = shards[done % shards.length] ?? { primary: "", replica: "" };
        const [, disturb] = KINDS[done % KINDS.length] ?? [];
        await disturb?.({ pods, injector, primary, replica, seconds: 1 + ((done * 7) % 60) });
        await pods.here.untilReady(podLabels(pods.target.name), 6, READY_SECONDS);
        await pods.verified();
      } catch (error) {
        // On a busy machine, the API server may not answer for a while. This disturbance is made again.
        signal.throwIfAborted();
        if (++interruptions > MOST_INTERRUPTIONS) throw error;
        report(`interrupted: ${messageOf(error)}`);
        await injector.restore();
        await sleep(INTERRUPTION_MS, undefined, { signal });
        continue;
      }
      const [what] = KINDS[done % KINDS.length] ?? [];
      done++;
      // Events are kept for an hour, which is less than all disturbances may take.
      for (const event of await controlled.events()) if (event.startsWith("TookOver: ")) takeovers.add(event);
      const repairs = (await repairsOf(controlled)).join(", ") || "no repair";
      report(`${done}: ${what ?? ""}; ${repairs}; ${takeovers.size} takeovers`);
    }
    const repairs = (await repairsOf(controlled)).reduce((total, line) => total + Number(line.split(" ")[1]), 0);
    const during = `of a cluster during ${done} disturbances: cuts, restarts of pods, busy servers`;
    const rows = [
      singleRow({ id: REPAIRS, what: `repairs ${during}`, unit: "repairs" }, repairs, atMost(0)),
      singleRow({ id: TAKEOVERS, what: `takeovers ${during}`, unit: "takeovers" }, takeovers.size, atMost(0)),
    ];
    for (const row of rows) if (wanted.has(row.id)) emit(row);
  } finally {
    await controlled.close();
  }
}

/** Lines of the metric of repairs, by outcome. */
async function repairsOf(controlled: ControlledPods): Promise<string[]> {
  return (await controlled.ask("/metrics")).split("\n").filter((line) => line.startsWith("valkey_repairs_total{"));
}

async function cut(injector: PodFaultInjector, node: string, milliseconds: number): Promise<void> {
  await injector.cut([node]);
  await sleep(milliseconds);
  // Unlike healCut, this does not ask whether nodes have noticed the cut: a short one is not noticed.
  await injector.restore();
}

async function restart({ here, target: { namespace, name } }: DeployedPods, pod: string): Promise<void> {
  const before = (await here.core.readNamespacedPod({ namespace, name: pod })).metadata?.uid;
  await here.core.deleteNamespacedPod({ namespace, name: pod });
  await here.until(READY_SECONDS, async () => {
    const gone = (await here.pods(podLabels(name))).every(({ metadata }) => metadata?.uid !== before);
    return gone ? undefined : `${pod} is still there`;
  });
}

/** Keeps a server busy for a second or two; meanwhile it answers nobody. */
async function occupy(pods: DeployedPods, node: string): Promise<void> {
  const script = "for i = 1, 200000000 do end return 'done'";
  const said = await pods.withNodes((at) => at(node).call("EVAL_RO", script, "0"));
  if (said !== "done") throw new Failure(`${node} was not busy`);
}
