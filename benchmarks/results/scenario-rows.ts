/** Repeats of a scenario on a deployment as one row: distributions of times, sums of writes. Pure. */
import { textTable } from "../../lib/table";
import { formatCount, formatMs } from "../../lib/units";
import type { ScenarioRecord } from "../../faults/scenarios/scenario-schema";
import type { MedianInterval } from "../../lib/statistics/median";
import { medianInterval } from "../../lib/statistics/median";

/** A time over repeats. */
export interface RepeatSpread {
  /** Of the repeats in which it came to its end; undefined where there are none. */
  readonly finished: (MedianInterval & { readonly least: number; readonly most: number }) | undefined;
  /** Repeats in which it did not. */
  readonly unfinished: number;
}

export interface ScenarioRow {
  readonly scenario: string;
  readonly deployment: string;
  readonly description: string;
  readonly records: readonly ScenarioRecord[];
  /** Milliseconds from the fault until every shard took writes again. */
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

/** In order of first appearance. */
export function scenarioRows(failures: readonly ScenarioRecord[]): ScenarioRow[] {
  const groups = new Map<string, ScenarioRecord[]>();
  for (const record of failures) {
    const name = `${record.scenario} ${record.deployment}`;
    groups.set(name, [...(groups.get(name) ?? []), record]);
  }
  return [...groups.values()].flatMap((records): ScenarioRow[] => {
    const [first] = records;
    if (first === undefined) return [];
    const sum = (figure: (record: ScenarioRecord) => number): number =>
      records.reduce((total, record) => total + figure(record), 0);
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
      ended.length === 0
        ? undefined
        : { ...medianInterval(ended), least: Math.min(...ended), most: Math.max(...ended) },
    unfinished: times.length - ended.length,
  };
}

/** `1.35 s`, `1.30 … 1.52 s`, `never`. */
export function formatSpread({ finished, unfinished }: RepeatSpread): string {
  if (finished === undefined) return "never";
  const some =
    finished.least === finished.most
      ? seconds(finished.median)
      : `${seconds(finished.median)} (${seconds(finished.least)} … ${seconds(finished.most)})`;
  return unfinished === 0 ? some : `${some}, ${unfinished} never`;
}

function seconds(ms: number): string {
  return ms === 0 ? "none" : `${(ms / 1000).toFixed(2)} s`;
}

/** For summary.txt and the terminal. */
export function formatScenarios(failures: readonly ScenarioRecord[]): string[] {
  const rows = scenarioRows(failures);
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
    "=== Broken on purpose ===",
    ...textTable([head, ...body], "llllllrrlrr"),
    "Outage: from the fault until every shard acknowledges writes, as a client sees it; median (least … most). Lost: acknowledged, and not there after healing.",
    ...rows.flatMap(scenarioRemarks),
  ];
}

/** The greatest of the repeats. */
export function formatTailLatencies({ records }: ScenarioRow): string {
  const most = (phase: "before" | "during" | "after"): string => {
    const all = records.flatMap(({ latency }) => latency[phase].p99Ms ?? []);
    return all.length === 0 ? "–" : formatMs(Math.max(...all));
  };
  return `${most("before")} / ${most("during")} / ${most("after")}`;
}

/** What is to be said of a row beside its figures. */
export function scenarioRemarks({ scenario, deployment, records }: ScenarioRow): string[] {
  const where = `${scenario} on ${deployment}`;
  const count = (holds: (record: ScenarioRecord) => boolean): number => records.filter(holds).length;
  const of = (number: number): string => (records.length === 1 ? "" : ` in ${number} of ${records.length}`);
  const assisted = count((record) => record.assisted);
  const repaired = count((record) => record.repaired);
  const unread = records.reduce((sum, record) => sum + record.unread, 0);
  return [
    ...(assisted === 0 ? [] : [`${where}: did not recover by itself${of(assisted)}`]),
    ...(repaired === 0 ? [] : [`${where}: zones were made safe again by hand-over${of(repaired)}`]),
    ...(unread === 0
      ? []
      : [
          `${where}: ${formatCount(unread)} keys could not be read back (${records.find((record) => record.unreadReason !== null)?.unreadReason ?? ""}); what became of their writes is not known`,
        ]),
    ...[...new Set(records.flatMap(({ recoveryFailure }) => recoveryFailure ?? []))].map(
      (what) => `${where}: not well in the end: ${what}`,
    ),
    ...[...new Set(records.flatMap(({ anomalies }) => anomalies))].slice(0, 5).map((what) => `${where}: ${what}`),
  ];
}
