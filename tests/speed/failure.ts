/** What failures cost, as clients see it: hand-overs, a primary killed, many at once, and all at once. */
import type { ScenarioResult } from "../../faults/scenarios/scenario-run";
import { runScenarios } from "../../faults/scenarios/run-scenarios";
import type { Fault } from "../../faults/plan/fault";
import type { Scenario } from "../../faults/plan/scenario";
import { HostFaultInjector } from "../../faults/injectors/host-injector";
import { form } from "../../valkey/formation/form";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { median } from "../../lib/statistics/median";
import type { ServerSettings } from "../../valkey/settings";
import type { Shape } from "../../valkey/topology/placement";
import { nodeCount } from "../../valkey/topology/placement";
import { derivedSettings } from "../../valkey/topology/derived-settings";
import { verify } from "../../valkey/verification/verify";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import type { BenchRow, RowTarget } from "./row";
import { singleRow, atMost } from "./row";
import type { Workbench } from "./workbench";
import { hostPlan } from "./workbench";

const SMALL: Shape = { primaries: 3, replicasPerPrimary: 1 };
const LARGE: Shape = { primaries: 30, replicasPerPrimary: 1 };
/** Node timeouts, seconds, with how often a primary is killed at each; 15 s is Valkey's own default, beside which the others stand. */
const TIMEOUTS = [
  { seconds: 1, repeats: 30 },
  { seconds: 2, repeats: 30 },
  { seconds: 5, repeats: 30 },
  { seconds: 15, repeats: 8 },
] as const;
const VALKEYS_OWN_MS = 15_000;
/** Nobody promises anything of Valkey's own settings. */
const BESIDE: RowTarget = { text: "none", holds: () => true };
/** Of the primaries of the large cluster: one more would leave no majority. */
const KILLED = 14;

const outageId = (seconds: number): string => `outage-${seconds}s`;

const LOAD: Scenario["load"] = {
  rate: 300,
  bytes: 64,
  timeoutMs: 3000,
  acknowledgement: { replicas: 0, timeoutMs: 0 },
};

export const failure: Benchmark = {
  title: "Failures, as a client sees them",
  ids: [
    "hand-over-lost",
    "hand-over-failed",
    ...TIMEOUTS.map(({ seconds }) => outageId(seconds)),
    "outage-14-of-30",
    "all-killed-lost",
    "all-killed-ok",
  ],
  run: async (order) => {
    const { wanted } = order;
    if (wanted.has("hand-over-lost") || wanted.has("hand-over-failed")) await handOvers(order);
    for (const timeout of TIMEOUTS) if (wanted.has(outageId(timeout.seconds))) await outages(timeout, order);
    if (wanted.has("outage-14-of-30")) await manyAtOnce(order);
    if (wanted.has("all-killed-lost") || wanted.has("all-killed-ok")) await allAtOnce(order);
  },
};

/** Breaks a cluster of its own. */
async function broken(
  bench: Workbench,
  shape: Shape,
  settings: ServerSettings,
  fault: Fault,
  repeats: number,
  changes: Partial<Scenario>,
  report: (line: string) => void,
): Promise<ScenarioResult["record"][]> {
  const base = hostPlan("cluster", "cluster", shape);
  const asked: ServerSettings = { ...base.settings, "repl-diskless-sync-delay": 0, ...settings };
  // As stacks have it, but for what stands beside them: Valkey's own timeout, with Valkey's own pings.
  const plan: HostDeploymentPlan = {
    ...base,
    settings: asked["cluster-node-timeout"] === VALKEYS_OWN_MS ? asked : derivedSettings(asked, nodeCount(shape), true),
  };
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
  return bench.withServers([plan], async ({ host, deployments: [deployment], signal }) => {
    if (deployment === undefined) throw new Error("no deployment was started");
    await form(deployment, shape, { signal });
    const { verdict } = await verify(deployment);
    const records: ScenarioResult["record"][] = [];
    const subject = {
      injector: new HostFaultInjector(host, deployment, signal),
      shape,
      hasAutomaticFailover: true,
      initialPrimaries: verdict.shards.flatMap(({ primary }) => primary ?? []),
    };
    const emit = ({ record }: ScenarioResult): void => {
      records.push(record);
      report(
        `${record.id}: outage ${seconds(record.outage.overMs)} s, ${record.writes.failed} failed, ${record.lost.count} lost`,
      );
    };
    await runScenarios([{ scenario, repeats, subject }], { signal, report: () => undefined, onResult: emit });
    return records;
  });
}

const seconds = (ms: number | null): number => (ms === null ? Infinity : ms / 1000);
const sum = (
  records: readonly ScenarioResult["record"][],
  figure: (record: ScenarioResult["record"]) => number,
): number => records.reduce((total, record) => total + figure(record), 0);

async function handOvers({ workbench, wanted, emit, report }: BenchmarkContext): Promise<void> {
  const records = await broken(
    workbench,
    SMALL,
    { "cluster-node-timeout": 2000 },
    { kind: "rolling-restart", home: undefined },
    3,
    { load: { ...LOAD, rate: 1000 } },
    report,
  );
  const [writes, redirected] = [
    sum(records, (record) => record.writes.due),
    sum(records, (record) => record.writes.redirected),
  ];
  const what = `rolling restart of 6 nodes with hand-over, 3 times: of ${writes} writes (${redirected} redirected)`;
  if (wanted.has("hand-over-lost"))
    emit(
      singleRow(
        { id: "hand-over-lost", what: `${what} those acknowledged and lost`, unit: "writes" },
        sum(records, (record) => record.lost.count),
        atMost(0),
      ),
    );
  if (wanted.has("hand-over-failed"))
    emit(
      singleRow(
        { id: "hand-over-failed", what: `${what} those that failed or got no answer`, unit: "writes" },
        sum(records, (record) => record.writes.failed + record.writes.unknown),
        atMost(0),
      ),
    );
}

async function outages(
  { seconds: timeout, repeats }: (typeof TIMEOUTS)[number],
  { workbench, emit, report }: BenchmarkContext,
): Promise<void> {
  const records = await broken(
    workbench,
    SMALL,
    { "cluster-node-timeout": timeout * 1000 },
    { kind: "kill-primary", restart: "served" },
    repeats,
    {},
    report,
  );
  const times = records.map(({ outage }) => seconds(outage.overMs)).sort((a, b) => a - b);
  const what = `write outage after SIGKILL of a primary at a node timeout of ${timeout} s, 99th percentile of ${repeats} (median ${median(times).toFixed(2)} s), from the kill to the first acknowledged write of every shard`;
  emit(
    singleRow(
      { id: outageId(timeout), what, unit: "s" },
      times[Math.ceil(times.length * 0.99) - 1] ?? NaN,
      timeout * 1000 === VALKEYS_OWN_MS ? BESIDE : atMost(timeout + 1),
    ),
  );
}

/** Beside default settings, whose node timeout is 15 s. */
async function manyAtOnce({ workbench, emit, report }: BenchmarkContext): Promise<void> {
  const fault: Fault = { kind: "kill-primaries", share: KILLED / LARGE.primaries, restart: "served" };
  const at = async (timeoutMs: number): Promise<ScenarioResult["record"]> => {
    const [record] = await broken(
      workbench,
      LARGE,
      { "cluster-node-timeout": timeoutMs },
      fault,
      1,
      { beforeSeconds: 3 },
      report,
    );
    if (record === undefined) throw new Error("nothing was broken");
    return record;
  };
  const [ours, reference] = [await at(2000), await at(VALKEYS_OWN_MS)];
  const what = `${KILLED} of the ${LARGE.primaries} primaries of 60 nodes killed at once: every slot takes writes again, at a node timeout of 2 s; beside it the default of 15 s`;
  const row: BenchRow = {
    ...singleRow({ id: "outage-14-of-30", what, unit: "s" }, seconds(ours.outage.overMs), atMost(5)),
    reference: seconds(reference.outage.overMs),
  };
  emit(row);
}

async function allAtOnce({ workbench, wanted, emit, report }: BenchmarkContext): Promise<void> {
  const settings: ServerSettings = { "cluster-node-timeout": 2000, appendonly: true, appendfsync: "always" };
  const records = await broken(workbench, SMALL, settings, { kind: "kill-all", newAddresses: true }, 5, {}, report);
  const what = "all 6 nodes killed at once and started again at other addresses, 5 times, appendfsync always";
  if (wanted.has("all-killed-lost"))
    emit(
      singleRow(
        {
          id: "all-killed-lost",
          what: `${what}: of ${sum(records, (record) => record.writes.acknowledged)} acknowledged writes those lost`,
          unit: "writes",
        },
        sum(records, (record) => record.lost.count),
        atMost(0),
      ),
    );
  if (wanted.has("all-killed-ok"))
    emit(
      singleRow(
        { id: "all-killed-ok", what: `${what}: every node says that all slots are served, the slowest`, unit: "s" },
        Math.max(...records.map(({ okMs }) => seconds(okMs))),
        atMost(30),
      ),
    );
}
