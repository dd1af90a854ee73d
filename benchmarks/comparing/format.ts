/** A comparison of runs as lines for a terminal. Pure. */
import type { Results } from "../results/schema";
import { textTable } from "../table";
import { formatCount } from "../units";
import type { Judgement, RunComparison } from "./compare";
import { describeChange } from "./compare";

const JUDGEMENTS: Readonly<Record<Judgement, string>> = {
  faster: "faster",
  slower: "slower",
  noise: "noise: the machine itself moved as much",
  "no-difference": "no difference shown",
  "not-enough-data": "not enough data",
  "other-work": "other work, no ratio",
};

/** @param name of a run, for people */
export function formatRun(name: string, { stack, timestamp, complete, reason, records }: Results): string {
  return `${name}: stack ${stack}, ${timestamp} UTC, ${records.length} measurements${complete ? "" : `, incomplete (${reason ?? "stopped"})`}`;
}

export function formatComparison({ changes, canary, rows, unmatched }: RunComparison): string[] {
  const notes = [...new Set(rows.flatMap((row) => row.notes))];
  const letter = (note: string): string => `[${notes.indexOf(note) + 1}]`;
  const lines = rows.map(({ title, before, after, rpsBefore, rpsAfter, ratio, judgement, notes: own }) => [
    title,
    before === after ? before : `${before} → ${after}`,
    `${formatCount(rpsBefore)}/s`,
    `${formatCount(rpsAfter)}/s`,
    ratio?.ratio === undefined ? "–" : `${ratio.ratio.toFixed(2)}×`,
    ratio?.low === undefined || ratio.high === undefined ? "" : `(${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)})`,
    [JUDGEMENTS[judgement], ...own.map(letter)].join(" "),
  ]);
  return [
    changes.length === 0 ? "Nothing about machine, versions, settings or topology has changed." : "Changed:",
    ...changes.map((change) => `  ${describeChange(change)}`),
    ...(canary === undefined ? [] : [`Canary: ${canary.ratio?.toFixed(2) ?? "–"}×${canary.low === undefined || canary.high === undefined ? "" : ` (${canary.low.toFixed(2)} … ${canary.high.toFixed(2)})`}: what the same load on the same machine differs by, with nothing of yours in it`]),
    "",
    ...(rows.length === 0 ? ["Nothing was measured in both."] : textTable([["Test", "Deployment", "First", "Second", "Ratio", "95 %", ""], ...lines], "  rrr")),
    ...notes.map((note) => `${letter(note)} ${note}`),
    ...unmatched,
  ];
}
