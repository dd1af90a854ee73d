/** The end of a study on the terminal, and summary.txt: what was compared, what came of it, what the document claims. Pure. */
import { textTable } from "../../../lib/table";
import { formatCount, formatDuration, formatMs } from "../../../lib/units";
import { resultRows } from "../rows";
import type { Results } from "../schema";
import type { Claim, StudyComparison, StudyRecord } from "../study-schema";

export const VERDICT_LABELS: Readonly<Record<StudyComparison["verdict"], string>> = {
  greater: "more",
  less: "less",
  "no-difference": "no difference shown",
  "not-enough-data": "not enough data",
};

export const CLAIM_FINDING_LABELS: Readonly<Record<Claim["finding"], string>> = {
  supported: "supported",
  contradicted: "contradicted",
  "no-say": "cannot be said here",
};

export const METRIC_LABELS: Readonly<Record<StudyComparison["metric"], string>> = {
  throughput: "throughput",
  p99: "p99",
  "cpu-per-operation": "CPU per operation",
};

export const REFERENCE_LOAD_MOVED =
  "A reference load moved: a fixed load did not run at its usual rate throughout, so the machine was not the same throughout, and everything here has a warning.";

export const INTERLEAVING_NOTE =
  "Side by side: the servers of both ran and were sent to in alternating slices of 5 to 15 ms, so that a machine that changes changes for both.";

/** Of a p99 that another load generator than the open loop has at an offered rate. */
export const CLOSED_LOOP_NOTE =
  "p99 at an offered rate is a closed loop's: who waits for a reply sends nothing meanwhile, and a stall counts once for each connection. The load generator open-loop counts it for all who would have called (valkey:workloads).";

/** What its reader must know of the intervals, after what they are of. */
export function intervalNotes({ comparisons, precision }: Pick<StudyRecord, "comparisons" | "precision">): string[] {
  const known = comparisons.filter(({ low }) => low !== null).length;
  const percent = (part: number): string => `${Number((100 * part).toFixed(1))} %`;
  // Where a rate was offered, throughput is that and is not compared.
  const isAtRate = ({ test, base, other }: StudyComparison): boolean =>
    !comparisons.some(
      (each) => each.metric === "throughput" && each.test === test && each.base === base && each.other === other,
    );
  return [
    ...(comparisons.some(({ verdict }) => verdict === "no-difference")
      ? [
          `No difference shown: the interval holds 1 and is known to ${percent(precision)}, so that it leaves none open of more than ${percent((1 + precision) ** 2 - 1)}; its ends say how much.`,
        ]
      : []),
    ...(known > 5
      ? [
          `Each interval is right in 95 of 100 studies, by itself: of ${known}, ${Math.max(1, Math.round(0.05 * known))} or so will miss the true ratio by chance.`,
        ]
      : []),
    ...(comparisons.some((each) => each.metric === "p99" && isAtRate(each)) ? [CLOSED_LOOP_NOTE] : []),
  ];
}

/** Lines without colour; none where the run was no study. */
export function formatStudy(results: Results): string[] {
  const { study } = results;
  if (study === undefined) return [];
  return [
    ...(results.complete ? [] : [`INCOMPLETE: ${results.reason ?? "the study was stopped"}`, ""]),
    `Study ${study.name}: ${study.rounds} ${study.rounds === 1 ? "round" : "rounds"} of ${study.treatments.length} treatments in ${formatDuration(study.elapsedSeconds)}, seed ${study.seed}; ${describeEnd(study)}`,
    ...(study.referenceLoadMoved ? [REFERENCE_LOAD_MOVED] : []),
    "",
    ...cellTable(results, study),
    ...failures(study),
    "",
    ...comparisonTable(study),
    ...(study.findings.length === 0 ? [] : ["", "Findings"]),
    ...study.findings.map((finding) => `  ${finding}`),
    ...(study.claims.length === 0 ? [] : ["", "Claims of the document"]),
    ...study.claims.flatMap(({ document, claim, finding, why }) => [
      `  ${document}: ${claim}`,
      `    ${CLAIM_FINDING_LABELS[finding]}: ${why}`,
    ]),
    "",
  ];
}

export function describeEnd({
  ended,
  precision,
  treatments,
  comparisons,
}: Pick<StudyRecord, "ended" | "precision" | "treatments" | "comparisons">): string {
  const wanted = `${Number((100 * precision).toFixed(1))} %`;
  const isLost = (id: string): boolean =>
    treatments.some((treatment) => treatment.id === id && treatment.failed !== null);
  switch (ended) {
    case "precise":
      if (comparisons.length === 0) return "there is nothing to compare";
      // What a treatment had shown before it was given up is shown all the same.
      if (
        comparisons.every(
          ({ base, other, verdict }) => verdict === "not-enough-data" && (isLost(base) || isLost(other)),
        )
      )
        return "nothing could be compared, for treatments were given up";
      return `every comparison that decides${treatments.some(({ failed }) => failed !== null) ? ", of treatments that were not given up," : ""} is known to ${wanted}`;
    case "budget":
      return `the budget ended before every comparison that decides was known to ${wanted}`;
    case "not-yet":
      return "it has not ended";
  }
}

function cellTable(results: Results, { treatments }: StudyRecord): string[] {
  const rows = resultRows(results);
  const lines = treatments.flatMap(({ id, label, shared }) =>
    rows
      .filter(({ deployment }) => deployment === id)
      .map(({ title, rps, p99Ms, serverCpu, serverRps, warnings }) => [
        label,
        title,
        `${formatCount(rps.median)}/s`,
        `${formatMs(p99Ms)} ms`,
        serverCpu === null || serverRps === null || serverRps === 0
          ? "–"
          : `${((1e6 * serverCpu) / serverRps).toFixed(2)} µs`,
        [...warnings.map(({ code }) => code), ...(shared === null ? [] : ["shared-cpus"])].join(" "),
      ]),
  );
  return textTable([["Treatment", "Test", "Throughput", "p99", "CPU/op", "Warnings"], ...lines], "  rrr");
}

function failures({ treatments }: StudyRecord): string[] {
  return treatments.flatMap(({ label, failed }) =>
    failed === null ? [] : [`${label} was given up: ${failed.split("\n")[0] ?? ""}`],
  );
}

function comparisonTable(study: StudyRecord): string[] {
  const { comparisons, treatments } = study;
  if (comparisons.length === 0) return ["Nothing was compared."];
  const name = (id: string): string => treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const rows = comparisons.map(({ title, metric, base, other, ratio, low, high, verdict, interleaved }) => [
    title,
    `${METRIC_LABELS[metric]}${interleaved ? "*" : ""}`,
    `${name(other)} / ${name(base)}`,
    ratio === null ? "–" : `${ratio.toFixed(2)}×`,
    low === null || high === null ? "" : `(${low.toFixed(2)} … ${high.toFixed(2)})`,
    VERDICT_LABELS[verdict],
  ]);
  const note = comparisons.some(({ interleaved }) => interleaved) ? [`* ${INTERLEAVING_NOTE}`] : [];
  return [
    ...textTable([["Test", "Figure", "Compared", "Ratio", "95 %", ""], ...rows], "   r"),
    ...note,
    ...intervalNotes(study),
  ];
}
