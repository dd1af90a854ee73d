import { textTable } from "../../../lib/table";
import { compact } from "../../../lib/compact";
import { counted, formatCount, formatDuration, formatPercent } from "../../../lib/units";
import { formatCpuPerOperation, latencyOf, resultRows } from "../rows";
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
  inconclusive: "inconclusive here",
};

export const METRIC_LABELS: Readonly<Record<StudyComparison["metric"], string>> = {
  throughput: "throughput",
  p99: "p99",
  "cpu-per-operation": "CPU per operation",
};

export const REFERENCE_LOAD_MOVED =
  "The rate of the reference load changed during the study, so the machine became faster or slower. " +
  "Every result of this study has a warning.";

export const INTERLEAVING_NOTE =
  "Interleaved: the servers of both treatments ran at the same time, and the load switched from one to the other every 5 to 15 ms, " +
  "so a change of the machine affects both treatments.";

export const CLOSED_LOOP_NOTE =
  "The p99 at an offered rate comes from a closed loop: a connection sends nothing while it waits for a reply, " +
  "so a stall counts once per connection. The load generator open-loop (valkey:workloads) counts a stall for every " +
  "request that was due during the stall.";

export function intervalNotes({ comparisons, precision }: Pick<StudyRecord, "comparisons" | "precision">): string[] {
  const known = comparisons.filter(({ low }) => low !== null).length;
  // At an offered rate, the throughput equals this rate, so it is not compared.
  const isAtRate = ({ test, base, other }: StudyComparison): boolean =>
    !comparisons.some(
      (each) => each.metric === "throughput" && each.test === test && each.base === base && each.other === other,
    );
  return compact([
    comparisons.some(({ verdict }) => verdict === "no-difference")
      ? `No difference shown: the interval contains 1 and has a precision of ${formatPercent(precision)}, ` +
        `so it excludes a difference of more than ${formatPercent((1 + precision) ** 2 - 1)}.`
      : undefined,
    known > 5
      ? `Each interval contains the true ratio with 95 % probability: ` +
        `about ${Math.max(1, Math.round(0.05 * known))} of these ${known} intervals will miss their true ratio by chance.`
      : undefined,
    comparisons.some((each) => each.metric === "p99" && isAtRate(each)) ? CLOSED_LOOP_NOTE : undefined,
  ]);
}

export function formatStudy(results: Results): string[] {
  const { study } = results;
  if (study === undefined) return [];
  return [
    ...(results.complete ? [] : [`INCOMPLETE: ${results.reason ?? "the study was stopped"}`, ""]),
    `Study ${study.name}: ${describeExtent(study)}, seed ${study.seed}; ${describeEnd(study)}`,
    ...compact([study.referenceLoadMoved ? REFERENCE_LOAD_MOVED : undefined]),
    "",
    ...treatmentTable(results, study),
    ...failures(study),
    "",
    ...comparisonTable(study),
    ...(study.findings.length === 0 ? [] : ["", "Findings"]),
    ...study.findings.map((finding) => `  ${finding}`),
    ...(study.claims.length === 0 ? [] : ["", "Claims of published documents"]),
    ...study.claims.flatMap(({ document, claim, finding, why }) => [
      `  ${document}: ${claim}`,
      `    ${CLAIM_FINDING_LABELS[finding]}: ${why}`,
    ]),
    "",
  ];
}

export function describeExtent({
  rounds,
  treatments,
  elapsedSeconds,
}: Pick<StudyRecord, "rounds" | "treatments" | "elapsedSeconds">): string {
  return `${counted(rounds, "round")} of ${treatments.length} treatments in ${formatDuration(elapsedSeconds)}`;
}

export function describeEnd({
  ended,
  precision,
  treatments,
  comparisons,
}: Pick<StudyRecord, "ended" | "precision" | "treatments" | "comparisons">): string {
  const wanted = formatPercent(precision);
  const givenUp = new Set(treatments.flatMap(({ id, failed }) => (failed === null ? [] : [id])));
  // A treatment may have been compared before it was given up.
  const isLost = ({ base, other, verdict }: StudyComparison): boolean =>
    verdict === "not-enough-data" && (givenUp.has(base) || givenUp.has(other));
  switch (ended) {
    case "precise":
      if (comparisons.length === 0) return "nothing to compare";
      if (comparisons.every(isLost)) return "no comparison was possible, because treatments failed";
      return givenUp.size === 0
        ? `every required comparison has a precision of ${wanted}`
        : `every required comparison has a precision of ${wanted}, except comparisons with treatments that failed`;
    case "budget":
      return `the budget ran out before all required comparisons had a precision of ${wanted}`;
    case "not-yet":
      return "the study has not ended";
  }
}

function treatmentTable(results: Results, { treatments }: StudyRecord): string[] {
  const rows = resultRows(results);
  const lines = treatments.flatMap(({ id, label, shared }) =>
    rows
      .filter(({ deployment }) => deployment === id)
      .map((row) => [
        label,
        row.title,
        `${formatCount(row.rps.median)}/s`,
        latencyOf(row, row.p99Ms),
        formatCpuPerOperation(row),
        compact([...row.warnings.map(({ code }) => code), shared === null ? undefined : "shared-cpus"]).join(" "),
      ]),
  );
  return textTable([["Treatment", "Test", "Throughput", "p99", "CPU/op", "Warnings"], ...lines], "  rrr");
}

function failures({ treatments }: StudyRecord): string[] {
  return treatments.flatMap(({ label, failed }) =>
    failed === null
      ? []
      : [`${label} failed, and the study continued without this treatment: ${failed.split("\n")[0] ?? ""}`],
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
    ...textTable([["Test", "Metric", "Compared", "Ratio", "95 %", ""], ...rows], "   r"),
    ...note,
    ...intervalNotes(study),
  ];
}
