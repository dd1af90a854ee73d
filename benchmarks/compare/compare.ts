import { compact } from "../../lib/compact";
import { formatObjective } from "../capacity/objective";
import { latencyLimitMs } from "../results/latency-limits";
import { percentileMs, recordPercentileMs } from "../results/rows";
import { CLOSED_LOOP_NOTE } from "../results/formats/study-summary";
import { median } from "../../lib/statistics/median";
import { independentRatio } from "../../lib/statistics/independent";
import type { Ratio } from "../../lib/statistics/ratio";
import type { MeasurementRecord, Results } from "../results/schema";
import { type ComparedCapacity, compareCapacities, isWithinDrift, judgeCapacities } from "./capacities";
import type { Change } from "./changes";
import {
  describeChange,
  environmentChanges,
  generatorChanges,
  hostChanges,
  matchDeployments,
  isSameMachine,
  topologyChanges,
  workChanges,
} from "./changes";

export const DEFAULT_PRECISION = 0.05;

const ANOTHER_MACHINE = "the runs used different machines: the ratio also contains the difference between the machines";

const LOWER_BOUND =
  "no ratio: a latency with ≥ is a lower bound, because requests timed out or took longer than the load generator records";

/**
 * Judgement of a ratio. `noise` means that the difference is significant, but that the reference load changed as well.
 * `other-work` means that no ratio is computed, because the two runs did not send the same load.
 */
export type Judgement = "faster" | "slower" | "noise" | "no-difference" | "not-enough-data" | "other-work";

/** One test of a deployment that both runs have. */
export interface ComparedRow {
  readonly title: string;
  /** Name of the deployment in the first run and in the second run. */
  readonly before: string;
  readonly after: string;
  /** Compared metric: throughput at full speed, or p99 at an offered rate. */
  readonly metric: "throughput" | "p99";
  /**
   * Value of the metric in the first run and in the second run. The throughput is the median of all repeats, in
   * requests per second. The p99 is computed from all repeats together, in milliseconds.
   */
  readonly valueBefore: number;
  readonly valueAfter: number;
  /** Latencies from which on the values are only lower bounds, milliseconds. */
  readonly limitBeforeMs: number;
  readonly limitAfterMs: number;
  /**
   * Value of the second run divided by the value of the first run; undefined if the work differs, or if a value is only
   * a lower bound.
   */
  readonly ratio: Ratio | undefined;
  readonly judgement: Judgement;
  /**
   * If the ratio is missing, the reasons for this. Otherwise, possible causes of the difference other than the servers.
   */
  readonly notes: readonly string[];
}

/** All comparisons between two runs. */
export interface RunComparison {
  readonly changes: readonly Change[];
  /**
   * Rate of the reference load in the second run, divided by the rate of the reference load in the first run; undefined
   * without reference loads, or if the machines differ.
   */
  readonly referenceLoad: Ratio | undefined;
  readonly rows: readonly ComparedRow[];
  readonly capacities: readonly (ComparedCapacity & { readonly judgement: Judgement })[];
  /** Results that only one of the two runs has. */
  readonly unmatched: readonly string[];
}

/** Compares two runs. @param precision relative difference that matters: 0.05 is 5 % */
export function compareRuns(before: Results, after: Results, precision = DEFAULT_PRECISION): RunComparison {
  const hosts = hostChanges(before, after);
  const isSameHere = isSameMachine(before.environment, after.environment);
  const isSame = isSameHere && hosts.length === 0;
  const matched = matchDeployments(before, after);
  const rates = ({ referenceLoads }: Results): number[] => referenceLoads.map(({ rps }) => rps);
  const referenceLoad =
    isSameHere && before.referenceLoads.length > 0 && after.referenceLoads.length > 0
      ? independentRatio(rates(before), rates(after), precision)
      : undefined;
  const rows = matched.flatMap((pair) => {
    const [first, second] = [pair.before, pair.after].map(({ deployment }, index) =>
      (index === 0 ? before : after).records.filter((record) => record.deployment === deployment),
    );
    return titlesOf(first ?? []).flatMap((title) => {
      const [a, b] = [first, second].map((records) => (records ?? []).filter((record) => record.title === title));
      return a === undefined || b === undefined || b.length === 0
        ? []
        : [rowOf(a, b, referenceLoad, isSame, precision)];
    });
  });
  const capacities = compareCapacities(before, after, matched, isSame ? [] : [ANOTHER_MACHINE]).map((compared) => ({
    ...compared,
    judgement: judgeCapacities(compared, referenceLoad, precision),
  }));
  return {
    changes: [
      ...environmentChanges(before.environment, after.environment),
      ...hosts,
      ...matched.flatMap((pair) => topologyChanges(pair.before, pair.after)),
    ],
    referenceLoad: referenceLoad,
    rows,
    capacities,
    unmatched: [...unmatchedOf(before, after, rows), ...unmatchedCapacities(before, after, capacities)],
  };
}

function titlesOf(records: readonly MeasurementRecord[]): string[] {
  return [...new Set(records.map(({ title }) => title))];
}

function rowOf(
  before: readonly MeasurementRecord[],
  after: readonly MeasurementRecord[],
  referenceLoad: Ratio | undefined,
  isSame: boolean,
  precision: number,
): ComparedRow {
  const [a, b] = [before[0], after[0]];
  if (a === undefined || b === undefined) throw new Error("nothing was measured");
  const metric = a.rate === null ? "throughput" : "p99";
  const base = {
    title: a.title,
    before: a.deployment,
    after: b.deployment,
    metric: metric,
    valueBefore: valueOf(before, metric),
    valueAfter: valueOf(after, metric),
    limitBeforeMs: latencyLimitMs(before),
    limitAfterMs: latencyLimitMs(after),
  } as const;
  const work = workChanges(before, after);
  if (work.length > 0) return { ...base, ratio: undefined, judgement: "other-work", notes: work.map(describeChange) };
  const ratio = independentRatio(eachOf(before, metric), eachOf(after, metric), precision);
  const isBoundBefore = metric === "p99" && base.valueBefore >= base.limitBeforeMs;
  const isBoundAfter = metric === "p99" && base.valueAfter >= base.limitAfterMs;
  const isBound = isBoundBefore || isBoundAfter;
  const notes = compact([
    isBound ? LOWER_BOUND : undefined,
    metric === "p99" && (a.offering === null || b.offering === null) ? CLOSED_LOOP_NOTE : undefined,
    ...generatorChanges(a, b).map((change) => `the load generator differs: ${describeChange(change)}`),
    isSame ? undefined : ANOTHER_MACHINE,
    ...warningsOf(before, "first"),
    ...warningsOf(after, "second"),
  ]);
  // A lower bound shows a difference only if it is the greater value.
  const { ratio: times = 1 } = ratio;
  const isKnown = (!isBoundBefore || times < 1) && (!isBoundAfter || times > 1);
  const judgement = isKnown ? judge(ratio, referenceLoad, metric) : "not-enough-data";
  return { ...base, ratio: isBound ? undefined : ratio, judgement, notes };
}

function eachOf(records: readonly MeasurementRecord[], metric: ComparedRow["metric"]): number[] {
  return records.map((record) => (metric === "throughput" ? record.client.rps : recordPercentileMs(record, 0.99)));
}

function valueOf(records: readonly MeasurementRecord[], metric: ComparedRow["metric"]): number {
  return metric === "throughput" ? median(eachOf(records, metric)) : percentileMs(records, 0.99);
}

/** `noise` if a change of the machine's speed, as the reference loads show it, can explain the ratio. */
function judge(ratio: Ratio, referenceLoad: Ratio | undefined, metric: ComparedRow["metric"]): Judgement {
  if (ratio.verdict === "no-difference" || ratio.verdict === "not-enough-data") return ratio.verdict;
  if (isWithinDrift(referenceLoad, ratio.ratio ?? 1)) return "noise";
  return (ratio.verdict === "greater") === (metric === "throughput") ? "faster" : "slower";
}

function warningsOf(records: readonly MeasurementRecord[], which: string): string[] {
  const codes = [...new Set(records.flatMap(({ warnings }) => warnings.map(({ code }) => code)))];
  return codes.length === 0 ? [] : [`warnings in the ${which} run: ${codes.join(", ")}`];
}

function unmatchedOf(before: Results, after: Results, rows: readonly ComparedRow[]): string[] {
  const missing = (
    results: Results,
    which: string,
    isThere: (deployment: string, title: string) => boolean,
  ): string[] =>
    [...new Set(results.records.map(({ deployment, title }) => `${title} of ${deployment}`))].flatMap((name) => {
      const [title = "", deployment = ""] = name.split(" of ");
      return isThere(deployment, title) ? [] : [`${name}: measured only in the ${which} run`];
    });
  return [
    ...missing(before, "first", (deployment, title) =>
      rows.some((row) => row.before === deployment && row.title === title),
    ),
    ...missing(after, "second", (deployment, title) =>
      rows.some((row) => row.after === deployment && row.title === title),
    ),
  ];
}

function unmatchedCapacities(before: Results, after: Results, compared: readonly ComparedCapacity[]): string[] {
  const missing = ({ capacities }: Results, which: string, side: "before" | "after"): string[] =>
    capacities
      .filter((capacity) => !compared.some((each) => each[side] === capacity))
      .map(
        ({ workload, deployment, objective }) =>
          `capacity of ${deployment} for ${workload} at ${formatObjective(objective)}: measured only in the ${which} run`,
      );
  return [...missing(before, "first", "before"), ...missing(after, "second", "after")];
}
