/** Faults as clients see them: hand-overs, the loss of one primary, of many at once and of all nodes. */
import { runScenarios } from "../../../faults/scenarios/run-scenarios";
import type { ScenarioResult } from "../../../faults/scenarios/scenario-run";
import type { Fault } from "../../../faults/plan/fault";
import type { Scenario } from "../../../faults/plan/scenario";
import { median } from "../../../lib/statistics/median";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import { form } from "../../../valkey/formation/form";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { derivedSettings } from "../../../valkey/planning/derived-settings";
import type { Shape } from "../../../valkey/topology/placement";
import { nodeCount } from "../../../valkey/topology/placement";
import { hostFaultSubject } from "../../support/faults/fault-subject";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { BenchRow } from "../row";
import { atMost, singleRow } from "../row";
import { hostPlan } from "../workbench";

type ScenarioRecord = ScenarioResult["record"];

const SMALL: Shape = { primaries: 3, replicasPerPrimary: 1 };
const LARGE: Shape = { primaries: 30, replicasPerPrimary: 1 };
/** Seconds: the shortest that is safe on a machine with neighbours, and the project's default. */
const NODE_TIMEOUTS = [1, 2] as const;
const OUTAGE_REPEATS = 30;
const DEFAULT_NODE_TIMEOUT_MS = 2000;
const VALKEY_NODE_TIMEOUT_MS = 15_000;
/** Primaries of the large cluster that are killed: with one more there would be no majority. */
const KILLED = 14;

const HAND_OVER = "hand-over-failed";
const MANY = "outage-14-of-30";
const ALL = "all-killed-ok";
const outageId = (nodeTimeout: number): string => `outage-${nodeTimeout}s`;

const LOAD: Scenario["load"] = {
  rate: 300,
  bytes: 64,
  timeoutMs: 3000,
  acknowledgement: { replicas: 0, timeoutMs: 0 },
};

export const failure: Benchmark = {
  title: "Faults, as a client sees them",
  ids: [HAND_OVER, ...NODE_TIMEOUTS.map(outageId), MANY, ALL],
  run: async (context) => {
    const { wanted } = context;
    if (wanted.has(HAND_OVER)) await measureHandOvers(context);
    for (const nodeTimeout of NODE_TIMEOUTS)
      if (wanted.has(outageId(nodeTimeout))) await measureOutages(nodeTimeout, context);
    if (wanted.has(MANY)) await measureManyAtOnce(context);
    if (wanted.has(ALL)) await measureAllAtOnce(context);
  },
};

/** A fault on a cluster of its own. */
interface Trial {
  readonly shape: Shape;
  readonly settings: ServerSettings;
  readonly fault: Fault;
  readonly repeats: number;
  readonly changes?: Partial<Scenario>;
}

async function runTrial(trial: Trial, { workbench, report }: BenchmarkContext): Promise<ScenarioRecord[]> {
  const { shape, fault, repeats, changes } = trial;
  const plan = planFor(trial);
  const scenario: Scenario = {
    name: fault.kind,
    fault,
    load: LOAD,
    settings: new Map(),
    beforeSeconds: 1,
    afterSeconds: 0.3,
    recoveryTimeoutSeconds: 180,
    repair: true,
    ...changes,
  };
  return workbench.withServers([plan], async ({ host, deployments: [deployment], signal }) => {
    if (deployment === undefined) throw new Error("no deployment was started");
    await form(deployment, shape, { signal });
    const subject = await hostFaultSubject(host, deployment, plan, signal);
    const records: ScenarioRecord[] = [];
    const onResult = ({ record }: ScenarioResult): void => {
      records.push(record);
      const { outage, writes, lost } = record;
      report(`${record.id}: outage ${seconds(outage.overMs)} s, ${writes.failed} failed, ${lost.count} lost`);
    };
    await runScenarios([{ scenario, repeats, subject }], { signal, report: () => undefined, onResult });
    return records;
  });
}

/**
 * With the settings that a stack derives; a reference at Valkey's own node timeout keeps Valkey's own pings as well.
 */
function planFor({ shape, settings }: Trial): HostDeploymentPlan {
  const base = hostPlan("cluster", "cluster", shape);
  const all: ServerSettings = { ...base.settings, "repl-diskless-sync-delay": 0, ...settings };
  const isReference = all["cluster-node-timeout"] === VALKEY_NODE_TIMEOUT_MS;
  return { ...base, settings: isReference ? all : derivedSettings(all, nodeCount(shape), true) };
}

const seconds = (ms: number | null): number => (ms === null ? Infinity : ms / 1000);

function sum(records: readonly ScenarioRecord[], figure: (record: ScenarioRecord) => number): number {
  return records.reduce((total, record) => total + figure(record), 0);
}

async function measureHandOvers(context: BenchmarkContext): Promise<void> {
  const records = await runTrial(
    {
      shape: SMALL,
      settings: { "cluster-node-timeout": DEFAULT_NODE_TIMEOUT_MS },
      fault: { kind: "rolling-restart", home: undefined },
      repeats: 3,
      changes: { load: { ...LOAD, rate: 1000 } },
    },
    context,
  );
  const due = sum(records, ({ writes }) => writes.due);
  const redirected = sum(records, ({ writes }) => writes.redirected);
  const bad = sum(records, ({ writes, lost }) => writes.failed + writes.unknown + lost.count);
  const what =
    `rolling restart of 6 nodes with hand-over, 3 times: of ${due} writes (${redirected} redirected) ` +
    "those that failed, got no reply or were lost";
  context.emit(singleRow({ id: HAND_OVER, what, unit: "writes" }, bad, atMost(0)));
}

async function measureOutages(nodeTimeout: (typeof NODE_TIMEOUTS)[number], context: BenchmarkContext): Promise<void> {
  const records = await runTrial(
    {
      shape: SMALL,
      settings: { "cluster-node-timeout": nodeTimeout * 1000 },
      fault: { kind: "kill-primary", restart: "served" },
      repeats: OUTAGE_REPEATS,
    },
    context,
  );
  const times = records.map(({ outage }) => seconds(outage.overMs)).sort((a, b) => a - b);
  const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? NaN;
  const what =
    `outage after SIGKILL of a primary at a node timeout of ${nodeTimeout} s, 99th percentile of ${OUTAGE_REPEATS} ` +
    `(median ${median(times).toFixed(2)} s), from the kill to the first acknowledged write of every shard`;
  context.emit(singleRow({ id: outageId(nodeTimeout), what, unit: "s" }, p99, atMost(nodeTimeout + 1)));
}

/** The reference is Valkey's own node timeout. */
async function measureManyAtOnce(context: BenchmarkContext): Promise<void> {
  const fault: Fault = { kind: "kill-primaries", share: KILLED / LARGE.primaries, restart: "served" };
  const outageAt = async (nodeTimeoutMs: number): Promise<number> => {
    const settings: ServerSettings = { "cluster-node-timeout": nodeTimeoutMs };
    const trial: Trial = { shape: LARGE, settings, fault, repeats: 1, changes: { beforeSeconds: 3 } };
    const [record] = await runTrial(trial, context);
    if (record === undefined) throw new Error("no scenario was run");
    return seconds(record.outage.overMs);
  };
  const ours = await outageAt(DEFAULT_NODE_TIMEOUT_MS);
  const reference = await outageAt(VALKEY_NODE_TIMEOUT_MS);
  const what =
    `${KILLED} of the ${LARGE.primaries} primaries of 60 nodes killed at once: outage until every slot takes writes, ` +
    "at a node timeout of 2 s; reference: 15 s";
  const row: BenchRow = { ...singleRow({ id: MANY, what, unit: "s" }, ours, atMost(5)), reference };
  context.emit(row);
}

async function measureAllAtOnce(context: BenchmarkContext): Promise<void> {
  const settings: ServerSettings = {
    "cluster-node-timeout": DEFAULT_NODE_TIMEOUT_MS,
    appendonly: true,
    appendfsync: "always",
  };
  const fault: Fault = { kind: "kill-all", newAddresses: true };
  const records = await runTrial({ shape: SMALL, settings, fault, repeats: 5 }, context);
  const lost = sum(records, (record) => record.lost.count);
  const slowest = Math.max(...records.map(({ okMs }) => seconds(okMs)));
  const what =
    "all 6 nodes killed at once and restarted at other addresses, 5 times, appendfsync always: " +
    `slowest time until every node reports all slots as served (${lost} acknowledged writes lost)`;
  context.emit(singleRow({ id: ALL, what, unit: "s" }, lost === 0 ? slowest : Infinity, atMost(30)));
}
