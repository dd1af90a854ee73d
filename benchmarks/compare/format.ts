import { compact } from "../../lib/compact";
import { formatObjective } from "../capacity/objective";
import { formatLatency } from "../results/latency-limits";
import type { CapacityRecord, Results } from "../results/schema";
import { textTable } from "../../lib/table";
import type { Ratio } from "../../lib/statistics/ratio";
import { counted, formatCount } from "../../lib/units";
import type { Judgement, RunComparison } from "./compare";
import { describeChange } from "./changes";

const JUDGEMENTS: Readonly<Record<Judgement, string>> = {
  faster: "faster",
  slower: "slower",
  noise: "noise: the reference load changed by at least the same ratio",
  "no-difference": "no difference shown",
  "not-enough-data": "not enough data",
  "other-work": "different workloads, so no ratio",
};

export function formatRun(name: string, { stack, timestamp, complete, reason, records, capacities }: Results): string {
  const parts = compact([
    `${name}: stack ${stack}`,
    `${timestamp} UTC`,
    `${records.length} measurements`,
    capacities.length === 0 ? undefined : counted(capacities.length, "capacity", "capacities"),
    complete ? undefined : `incomplete (${reason ?? "stopped"})`,
  ]);
  return parts.join(", ");
}

function describeReferenceLoad({ ratio, low, high }: Ratio): string {
  const interval = low === undefined || high === undefined ? "" : ` (${low.toFixed(2)} … ${high.toFixed(2)})`;
  return `${ratio?.toFixed(2) ?? "–"}×${interval}`;
}

/** The changes, results, capacities and notes of a comparison as lines of text. */
export function formatComparison({ changes, referenceLoad, rows, capacities, unmatched }: RunComparison): string[] {
  const notes = [...new Set([...rows, ...capacities].flatMap((row) => row.notes))];
  const letter = (note: string): string => `[${notes.indexOf(note) + 1}]`;
  const lines = rows.map(({ title, before, after, metric, ratio, judgement, notes: own, ...row }) => [
    metric === "throughput" ? title : `${title}, p99`,
    before === after ? before : `${before} → ${after}`,
    ...(
      [
        [row.valueBefore, row.limitBeforeMs],
        [row.valueAfter, row.limitAfterMs],
      ] as const
    ).map(([value, limitMs]) => (metric === "throughput" ? `${formatCount(value)}/s` : formatLatency(limitMs, value))),
    ratio?.ratio === undefined ? "–" : `${ratio.ratio.toFixed(2)}×`,
    ratio?.low === undefined || ratio.high === undefined ? "" : `(${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)})`,
    [JUDGEMENTS[judgement], ...own.map(letter)].join(" "),
  ]);
  return compact([
    changes.length === 0 ? "Machine, versions, settings and topology are the same." : "Changes:",
    ...changes.map((change) => `  ${describeChange(change)}`),
    referenceLoad === undefined
      ? undefined
      : `Reference load: ${describeReferenceLoad(referenceLoad)}. It measures the change of the machine, because it does not use your servers`,
    "",
    ...(rows.length === 0
      ? capacities.length === 0
        ? ["The runs have no measurement in common."]
        : []
      : textTable([["Test", "Deployment", "First", "Second", "Ratio", "95 %", ""], ...lines], "  rrr")),
    ...capacityTable(capacities, letter),
    ...notes.map((note) => `${letter(note)} ${note}`),
    ...unmatched,
  ]);
}

function capacityTable(capacities: RunComparison["capacities"], letter: (note: string) => string): string[] {
  if (capacities.length === 0) return [];
  const rate = ({ capacity, isOpenEnded }: CapacityRecord): string =>
    `${isOpenEnded ? "≥ " : ""}${formatCount(capacity)}/s`;
  const lines = capacities.map(({ workload, before, after, bounds, workDifferences, notes, judgement }) => [
    `${workload}, ${formatObjective(before.objective)}`,
    before.deployment === after.deployment ? before.deployment : `${before.deployment} → ${after.deployment}`,
    rate(before),
    rate(after),
    bounds === undefined ? "–" : `${bounds.ratio.toFixed(2)}×`,
    bounds === undefined
      ? ""
      : `(${bounds.low.toFixed(2)} … ${Number.isFinite(bounds.high) ? bounds.high.toFixed(2) : "?"})`,
    [[JUDGEMENTS[judgement], ...workDifferences.map(describeChange)].join("; "), ...notes.map(letter)].join(" "),
  ]);
  return [
    "",
    ...textTable([["Capacity", "Deployment", "First", "Second", "Ratio", "within", ""], ...lines], "  rrr"),
    "(within: lowest and highest possible ratio, given the steps between the rates of each search; two searches of the same servers may differ by more)",
  ];
}
