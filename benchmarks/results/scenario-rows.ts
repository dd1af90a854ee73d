/** One row for all repeats of a scenario on a deployment: distributions of times, sums of writes. */
import { compact } from "../../lib/compact";
import { textTable } from "../../lib/table";
import { formatCount, formatMs } from "../../lib/units";
import type { ScenarioRecord } from "../../faults/scenarios/record-schema";
import { type MedianInterval, medianInterval } from "../../lib/statistics/median";

/** Durations from the fault until a state, such as that every shard acknowledges writes, one for each repeat. */
interface RepeatSpread {
  readonly finished: (MedianInterval & { readonly min: number; readonly max: number }) | undefined;
  readonly unfinished: number;
}

export interface ScenarioRow {
  readonly scenario: string;
  readonly deployment: string;
  readonly description: string;
  readonly records: readonly ScenarioRecord[];
  readonly outage: RepeatSpread;
  readonly clusterOk: RepeatSpread;
  readonly redundant: RepeatSpread;
  readonly verified: RepeatSpread;
  readonly due: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly lost: number;
}

export function scenarioRows(scenarios: readonly ScenarioRecord[]): ScenarioRow[] {
  const groups = new Map<string, ScenarioRecord[]>();
  for (const record of scenarios) {
    const name = `${record.scenario} ${record.deployment}`;
    groups.set(name, [...(groups.get(name) ?? []), record]);
  }
  return [...groups.values()].flatMap((records): ScenarioRow[] => {
    const [first] = records;
    if (first === undefined) return [];
    const sum = (value: (record: ScenarioRecord) => number): number =>
      records.reduce((total, record) => total + value(record), 0);
    return [
      {
        scenario: first.scenario,
        deployment: first.deployment,
        description: first.description,
        records,
        outage: spread(records.map(({ outage }) => outage.overMs)),
        clusterOk: spread(records.map(({ okMs }) => okMs)),
        redundant: spread(records.map(({ redundantMs }) => redundantMs)),
        verified: spread(records.map(({ verifiedMs }) => verifiedMs)),
        due: sum(({ writes }) => writes.due),
        acknowledged: sum(({ writes }) => writes.acknowledged),
        failed: sum(({ writes }) => writes.failed),
        unknown: sum(({ writes }) => writes.unknown),
        lost: sum(({ lost }) => lost.count),
      },
    ];
  });
}

function spread(times: readonly (number | null)[]): RepeatSpread {
  const ended = times.flatMap((time) => time ?? []);
  return {
    finished:
      ended.length === 0 ? undefined : { ...medianInterval(ended), min: Math.min(...ended), max: Math.max(...ended) },
    unfinished: times.length - ended.length,
  };
}

export function formatSpread({ finished, unfinished }: RepeatSpread): string {
  if (finished === undefined) return "never";
  const some =
    finished.min === finished.max
      ? seconds(finished.median)
      : `${seconds(finished.median)} (${seconds(finished.min)} … ${seconds(finished.max)})`;
  return unfinished === 0 ? some : `${some}, ${unfinished} never`;
}

function seconds(ms: number): string {
  return ms === 0 ? "none" : `${(ms / 1000).toFixed(2)} s`;
}

export const OUTAGE_NOTE =
  "Outage: time from the fault until every shard acknowledges writes of clients again; median (min … max of the repeats). " +
  "Lost: writes that were acknowledged and are missing after recovery.";

export function formatScenarios(scenarios: readonly ScenarioRecord[]): string[] {
  const rows = scenarioRows(scenarios);
  if (rows.length === 0) return [];
  const head = [
    "Scenario",
    "on",
    "outage",
    "state ok",
    "redundant",
    "verified",
    "failed",
    "unknown",
    "p99 before/during/after ms",
    "acknowledged",
    "lost",
  ];
  const body = rows.map((row) => [
    row.scenario,
    row.deployment,
    formatSpread(row.outage),
    formatSpread(row.clusterOk),
    formatSpread(row.redundant),
    formatSpread(row.verified),
    formatCount(row.failed),
    formatCount(row.unknown),
    formatTailLatencies(row),
    formatCount(row.acknowledged),
    formatCount(row.lost),
  ]);
  return [
    "=== Faults ===",
    ...textTable([head, ...body], "llllllrrlrr"),
    OUTAGE_NOTE,
    ...rows.flatMap(scenarioRemarks),
  ];
}

/** Each of the three values is the highest of all repeats. */
export function formatTailLatencies({ records }: ScenarioRow): string {
  const most = (phase: "before" | "during" | "after"): string => {
    const all = records.flatMap(({ latency }) => latency[phase].p99Ms ?? []);
    return all.length === 0 ? "–" : formatMs(Math.max(...all));
  };
  return `${most("before")} / ${most("during")} / ${most("after")}`;
}

const MAX_ANOMALIES = 5;

/** Facts that numbers do not show: help that the recovery needed, keys that could not be read, and anomalies. */
export function scenarioRemarks({ scenario, deployment, records }: ScenarioRow): string[] {
  const where = `${scenario} on ${deployment}`;
  const count = (holds: (record: ScenarioRecord) => boolean): number => records.filter(holds).length;
  const of = (number: number): string => (records.length === 1 ? "" : ` in ${number} of ${records.length} repeats`);
  const assisted = count((record) => record.assisted);
  const repaired = count((record) => record.repaired);
  const unreadReason = records.find((record) => record.unreadReason !== null)?.unreadReason ?? "";
  const unread = records.reduce((sum, record) => sum + record.unread, 0);
  return compact([
    assisted === 0
      ? undefined
      : `${where}: needed help to recover: a restart of killed nodes, or a takeover without an election${of(assisted)}`,
    repaired === 0
      ? undefined
      : `${where}: after the recovery a primary and its replica were in one zone, and hand-overs separated them${of(repaired)}`,
    unread === 0
      ? undefined
      : `${where}: ${formatCount(unread)} keys could not be read after recovery (${unreadReason}); ` +
        "it is unknown whether their writes are lost",
    ...[...new Set(records.flatMap(({ recoveryFailure }) => recoveryFailure ?? []))].map(
      (what) => `${where}: did not recover fully: ${what}`,
    ),
    ...[...new Set(records.flatMap(({ anomalies }) => anomalies))]
      .slice(0, MAX_ANOMALIES)
      .map((what) => `${where}: ${what}`),
  ]);
}
