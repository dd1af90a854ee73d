/** Disturbances that end by themselves, and that the controller must not answer. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PodFaultInjector } from "../../../faults/injectors/pod-injector";
import { Failure } from "../../../lib/errors";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, shardsOf } from "./heal";

const ID = "left-alone-repairs";
const DISTURBANCES = 100;
const READY_SECONDS = 120;
/** Shorter than the time after which nodes hold a node for failed, milliseconds. */
const SHORT_MS = 2_000;

interface Scene {
  readonly pods: DeployedPods;
  readonly injector: PodFaultInjector;
  readonly primary: string;
  readonly replica: string;
  /** Different in each round. */
  readonly seconds: number;
}

const KINDS: readonly (readonly [what: string, disturb: (scene: Scene) => Promise<void>])[] = [
  ["a replica is cut off", ({ injector, replica, seconds }) => cut(injector, replica, seconds * 1000)],
  ["a primary is cut off for a moment", ({ injector, primary }) => cut(injector, primary, SHORT_MS)],
  ["the pod of a replica restarts", ({ pods, replica }) => restart(pods, replica)],
  ["the pod of a primary restarts", ({ pods, primary }) => restart(pods, primary)],
  ["a primary is busy", ({ pods, primary }) => occupy(pods, primary)],
  ["a replica is busy", ({ pods, replica }) => occupy(pods, replica)],
];

export const leftAlone: Benchmark = {
  title: "Disturbances that a controller leaves alone",
  ids: [ID],
  run: async (context) => {
    if (!context.wanted.has(ID)) return;
    if (KUBECONFIG === undefined) context.skip(ID, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
    else await measure(context);
  },
};

async function measure({ report, emit, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open("undisturbed", CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, { repair: true });
  let done = 0;
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const { injector } = await pods.subject();
    while (done < DISTURBANCES && !signal.aborted) {
      const shards = await shardsOf(pods);
      const { primary, replica } = shards[done % shards.length] ?? { primary: "", replica: "" };
      const [what, disturb] = KINDS[done % KINDS.length] ?? [];
      await disturb?.({ pods, injector, primary, replica, seconds: 1 + ((done * 7) % 60) });
      await pods.here.untilReady(podLabels(pods.target.name), 6, READY_SECONDS);
      await pods.verified();
      done++;
      report(`${done}: ${what ?? ""}; ${(await repairsOf(controlled)).join(", ") || "no repair"}`);
    }
    const repairs = (await repairsOf(controlled)).reduce((total, line) => total + Number(line.split(" ")[1]), 0);
    const what = `repairs of a cluster during ${done} disturbances: cuts, restarts of pods, busy servers`;
    emit(singleRow({ id: ID, what, unit: "repairs" }, repairs, atMost(0)));
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
