/** A comparison of runs as lines for a terminal. Pure. */
import { formatObjective } from "../capacity/objective";
import type { CapacityRecord, Results } from "../results/schema";
import { textTable } from "../../lib/table";
import { formatCount, formatMs } from "../../lib/units";
import type { Judgement, RunComparison } from "./compare";
import { describeChange } from "./changes";

const JUDGEMENTS: Readonly<Record<Judgement, string>> = {
  faster: "faster",
  slower: "slower",
  noise: "noise: the machine itself moved as much",
  "no-difference": "no difference shown",
  "not-enough-data": "not enough data",
  "other-work": "other work, no ratio",
};

/** @param name of a run, for people */
export function formatRun(name: string, { stack, timestamp, complete, reason, records, capacities }: Results): string {
  return `${name}: stack ${stack}, ${timestamp} UTC, ${records.length} measurements${capacities.length === 0 ? "" : `, ${capacities.length} ${capacities.length === 1 ? "capacity" : "capacities"}`}${complete ? "" : `, incomplete (${reason ?? "stopped"})`}`;
}

export function formatComparison({ changes, referenceLoad, rows, capacities, unmatched }: RunComparison): string[] {
  const notes = [...new Set([...rows, ...capacities].flatMap((row) => row.notes))];
  const letter = (note: string): string => `[${notes.indexOf(note) + 1}]`;
  const lines = rows.map(({ title, before, after, metric, valueBefore, valueAfter, ratio, judgement, notes: own }) => [
    metric === "throughput" ? title : `${title}, p99`,
    before === after ? before : `${before} → ${after}`,
    ...[valueBefore, valueAfter].map((value) =>
      metric === "throughput" ? `${formatCount(value)}/s` : `${formatMs(value)} ms`,
    ),
    ratio?.ratio === undefined ? "–" : `${ratio.ratio.toFixed(2)}×`,
    ratio?.low === undefined || ratio.high === undefined ? "" : `(${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)})`,
    [JUDGEMENTS[judgement], ...own.map(letter)].join(" "),
  ]);
  return [
    changes.length === 0 ? "Nothing about machine, versions, settings or topology has changed." : "Changed:",
    ...changes.map((change) => `  ${describeChange(change)}`),
    ...(referenceLoad === undefined
      ? []
      : [
          `Reference load: ${referenceLoad.ratio?.toFixed(2) ?? "–"}×${referenceLoad.low === undefined || referenceLoad.high === undefined ? "" : ` (${referenceLoad.low.toFixed(2)} … ${referenceLoad.high.toFixed(2)})`}: what the same load on the same machine differs by, with nothing of yours in it`,
        ]),
    "",
    ...(rows.length === 0
      ? capacities.length === 0
        ? ["Nothing was measured in both."]
        : []
      : textTable([["Test", "Deployment", "First", "Second", "Ratio", "95 %", ""], ...lines], "  rrr")),
    ...capacityTable(capacities, letter),
    ...notes.map((note) => `${letter(note)} ${note}`),
    ...unmatched,
  ];
}

/** The interval of a ratio of capacities is what the steps of both searches leave open. */
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
    "(one search on each side: within are the steps of both, not how far two searches of the same servers lie apart)",
  ];
}
