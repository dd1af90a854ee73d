/** Faults as clients see them: hand-overs, the loss of one primary, of many at once and of all nodes. */
import type { Fault } from "../../faults/plan/fault";
import { median } from "../../lib/statistics/median";
import { form } from "../../valkey/formation/form";
import { derivedSettings } from "../../valkey/planning/derived-settings";
import type { ServerSettings } from "../../valkey/settings/settings";
import { type Shape, nodeCount } from "../../valkey/topology/placement";
import { hostFaultSubject } from "../../tests/support/faults/fault-subject";
import { type Benchmark, type BenchmarkContext, hostPlan } from "../workbench";
import { type FaultRun, type ScenarioRecord, runFault, secondsOrNever, sumOf, writeLoad } from "../fault-driver";
import { type BenchRow, atMost, singleRow } from "../row";

const SMALL: Shape = { primaries: 3, replicasPerPrimary: 1 };
const LARGE: Shape = { primaries: 30, replicasPerPrimary: 1 };
const OUTAGE_REPEATS = 30;
const DEFAULT_NODE_TIMEOUT_MS = 2000;
const VALKEY_NODE_TIMEOUT_MS = 15_000;
/** Primaries of the large cluster that are killed: with one more there would be no majority. */
const KILLED = 14;
const LOAD = writeLoad(300, 0);

interface Trial {
  readonly id: string;
  readonly shape: Shape;
  /** @default the project's default */
  readonly nodeTimeoutMs?: number;
  readonly settings?: ServerSettings;
  readonly fault: Fault;
  readonly repeats: number;
  readonly changes?: Partial<FaultRun>;
  /** Whether the same is done at Valkey's own node timeout, for comparison. */
  readonly isCompared?: boolean;
  readonly row: (
    records: readonly ScenarioRecord[],
    reference: readonly ScenarioRecord[] | undefined,
  ) => Omit<Parameters<typeof singleRow>[0], "id"> & {
    readonly ours: number;
    readonly target: ReturnType<typeof atMost>;
    readonly reference?: number;
  };
}

const outages = (records: readonly ScenarioRecord[]): number[] =>
  records.map(({ outage }) => secondsOrNever(outage.overMs)).sort((a, b) => a - b);

/** @param nodeTimeout seconds: the shortest that is safe on a machine with neighbours, and the project's default */
const outageTrial = (nodeTimeout: 1 | 2): Trial => ({
  ...{ id: `outage-${nodeTimeout}s`, shape: SMALL, nodeTimeoutMs: nodeTimeout * 1000, repeats: OUTAGE_REPEATS },
  fault: { kind: "kill-primary" },
  row: (records) => {
    const times = outages(records);
    const what =
      `outage after SIGKILL of a primary at a node timeout of ${nodeTimeout} s, 99th percentile of ${OUTAGE_REPEATS} ` +
      `(median ${median(times).toFixed(2)} s), from the kill to the first acknowledged write of every shard`;
    const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? NaN;
    return { what, unit: "s", ours: p99, target: atMost(nodeTimeout + 1) };
  },
});

const TRIALS: readonly Trial[] = [
  {
    ...{ id: "hand-over-failed", shape: SMALL, repeats: 3, changes: { load: { ...LOAD, rate: 1000 } } },
    fault: { kind: "rolling-restart" },
    row: (records) => {
      const due = sumOf(records, ({ writes }) => writes.due);
      const redirected = sumOf(records, ({ writes }) => writes.redirected);
      const what =
        `rolling restart of 6 nodes with hand-over, 3 times: of ${due} writes (${redirected} redirected) ` +
        "those that failed, got no reply or were lost";
      const bad = sumOf(records, ({ writes, lost }) => writes.failed + writes.unknown + lost.count);
      return { what, unit: "writes", ours: bad, target: atMost(0) };
    },
  },
  outageTrial(1),
  outageTrial(2),
  {
    ...{ id: "outage-14-of-30", shape: LARGE, repeats: 1, changes: { beforeSeconds: 3 }, isCompared: true },
    fault: { kind: "kill-primaries", share: KILLED / LARGE.primaries },
    row: (records, reference = []) => {
      const what =
        `${KILLED} of the ${LARGE.primaries} primaries of 60 nodes killed at once: outage until every slot takes ` +
        "writes, at a node timeout of 2 s; reference: 15 s";
      const [ours, beside] = [outages(records)[0] ?? NaN, outages(reference)[0] ?? NaN];
      return { what, unit: "s", ours, target: atMost(5), reference: beside };
    },
  },
  {
    ...{ id: "all-killed-ok", shape: SMALL, repeats: 5, settings: { appendonly: true, appendfsync: "always" } },
    fault: { kind: "kill-all", newAddresses: true },
    row: (records) => {
      const lost = sumOf(records, (record) => record.lost.count);
      const slowest = Math.max(...records.map(({ okMs }) => secondsOrNever(okMs)));
      const what =
        "all 6 nodes killed at once and restarted at other addresses, 5 times, appendfsync always: " +
        `slowest time until every node reports all slots as served (${lost} acknowledged writes lost)`;
      return { what, unit: "s", ours: lost === 0 ? slowest : Infinity, target: atMost(30) };
    },
  },
];

export const failure: readonly Benchmark[] = TRIALS.map((trial) => ({
  title: "Faults, as a client sees them",
  ids: [trial.id],
  run: async (context) => {
    const records = await runTrial(trial, trial.nodeTimeoutMs ?? DEFAULT_NODE_TIMEOUT_MS, context);
    const beside = trial.isCompared === true ? await runTrial(trial, VALKEY_NODE_TIMEOUT_MS, context) : undefined;
    const { what, unit, ours, target, reference } = trial.row(records, beside);
    const row: BenchRow = singleRow({ id: trial.id, what, unit }, ours, target, reference);
    context.emit(row);
  },
}));

/** With the settings that a stack derives. At Valkey's own node timeout, Valkey's own pings stay as well. */
function runTrial(
  { shape, settings, fault, repeats, changes }: Trial,
  nodeTimeoutMs: number,
  { workbench, report }: BenchmarkContext,
): Promise<ScenarioRecord[]> {
  const own = { "repl-diskless-sync-delay": 0, "cluster-node-timeout": nodeTimeoutMs, ...settings };
  const base = hostPlan("cluster", "cluster", shape, own);
  const isReference = nodeTimeoutMs === VALKEY_NODE_TIMEOUT_MS;
  const plan = isReference ? base : { ...base, settings: derivedSettings(base.settings, nodeCount(shape), true) };
  return workbench.withDeployment(plan, async ({ host, deployment, signal }) => {
    await form(deployment, shape, { signal });
    const subject = await hostFaultSubject(host, deployment, plan, signal);
    return runFault(subject, { fault, load: LOAD, ...changes }, signal, { repeats, report });
  });
}
