/** Drains of a machine of a large cluster, beside the same cluster with one disruption budget for all pods. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../lib/errors";
import { median } from "../../lib/statistics/median";
import { loosenBudgets, tightenBudgets } from "../../operations/changes/budgets";
import { DeployedPods, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import { type Benchmark, type BenchmarkContext, NO_KUBERNETES } from "../workbench";
import { atMost, comparedRow } from "../row";

const ID = "drain-30";
const NAME = "drained";
const PODS = 30;
const REPEATS = 3;
/** `kubectl drain` asks again for a pod that a budget kept after that time. */
const REFUSED_MS = 5000;
const POLL_MS = 200;
const READY_SECONDS = 300;

export const drain: Benchmark = {
  title: "A drain of a machine of a large cluster",
  ids: [ID],
  missing: NO_KUBERNETES,
  run: measure,
};

async function measure({ report, emit, signal }: BenchmarkContext): Promise<void> {
  const kind = { mode: "cluster", shape: { primaries: PODS / 2, replicasPerPrimary: 1 } } as const;
  const pods = await DeployedPods.open(NAME, kind, { settings: { "repl-diskless-sync-delay": 0 } });
  const seconds: Record<"ours" | "reference", number[]> = { ours: [], reference: [] };
  let drained = 0;
  try {
    const machines = await crowdOneZone(pods);
    for (let round = 0; round < 2 * REPEATS; round++) {
      signal.throwIfAborted();
      const kindOfBudget = round % 2 === 0 ? "reference" : "ours";
      const verification = await pods.verified();
      if (kindOfBudget === "ours") await loosenBudgets(pods.target, verification);
      else await tightenBudgets(pods.target);
      const machine = machines[round % machines.length] ?? "";
      const started = performance.now();
      drained = await drainMachine(pods, machine);
      const took = (performance.now() - started) / 1000;
      seconds[kindOfBudget].push(took);
      report(`${ID} ${kindOfBudget}: ${drained} pods of ${machine} in ${took.toFixed(1)} s`);
      await pods.here.untilReady(podLabels(NAME), PODS, READY_SECONDS);
      await pods.here.cordon(machine, false);
    }
  } finally {
    for (const machine of await pods.here.machines()) await pods.here.cordon(machine.name, false);
    await pods.close();
  }
  const what = `a drain of ${drained} of ${PODS} pods, ${REPEATS} times by turns; ratio: budgets by groups of shards to one budget`;
  const figures = { ours: median(seconds.ours), reference: median(seconds.reference) };
  emit(comparedRow({ id: ID, what, unit: "s" }, figures, "ours/reference", atMost(1 / 3)));
}

/** Moves all pods of a zone with two machines to the first of them. @returns both machines */
async function crowdOneZone(pods: DeployedPods): Promise<readonly [string, string]> {
  const machines = await pods.here.machines();
  for (const { name, zone } of machines) {
    const other = machines.find((each) => each.zone === zone && each.name !== name)?.name;
    if (other === undefined) continue;
    await drainMachine(pods, other);
    await pods.here.untilReady(podLabels(NAME), PODS, READY_SECONDS);
    await pods.here.cordon(other, false);
    return [name, other];
  }
  throw new Failure("no zone has two machines");
}

/** Evicts all pods of the deployment on a machine as `kubectl drain` does. @returns how many there were */
async function drainMachine({ here }: DeployedPods, machine: string): Promise<number> {
  await here.cordon(machine, true);
  const there = (await here.pods(podLabels(NAME))).filter(({ spec }) => spec?.nodeName === machine);
  await Promise.all(
    there.map(async ({ metadata }) => {
      const { name = "", uid = "" } = metadata ?? {};
      while (!(await here.tryToEvict(name))) await sleep(REFUSED_MS);
      while ((await here.pods(podLabels(NAME))).some((pod) => pod.metadata?.uid === uid)) await sleep(POLL_MS);
    }),
  );
  return there.length;
}
