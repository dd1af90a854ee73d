import { compact } from "../../lib/compact";
import { counted, formatCount } from "../../lib/units";
import { type ResultRow, formatCpuPerOperation, formatInterval, latencyOf, resultRows } from "../results/rows";
import type { Results } from "../results/schema";
import {
  REFERENCE_LOAD_MOVED,
  describeEnd,
  describeExtent,
  METRIC_LABELS,
  CLAIM_FINDING_LABELS,
  intervalNotes,
  INTERLEAVING_NOTE,
  VERDICT_LABELS,
} from "../results/formats/study-summary";
import type { Claim, StudyRecord } from "../results/study-schema";
import { type Html, html, list, scrolledTable, section } from "./html";

export function studySections(results: Results): (Html | undefined)[] {
  const { study } = results;
  return study === undefined ? [] : [overview(study), claims(study), treatments(results, study)];
}

function overview(study: StudyRecord): Html {
  return section(
    `Study ${study.name}`,
    html`<p>${describeExtent(study)}, in random order from seed ${study.seed}; ${describeEnd(study)}.</p>`,
    study.referenceLoadMoved ? html`<p class="warning">${REFERENCE_LOAD_MOVED}</p>` : undefined,
    study.findings.length === 0 ? undefined : list(study.findings),
  );
}

const CLAIM_CLASSES: Readonly<Record<Claim["finding"], string>> = {
  supported: "pass",
  contradicted: "fail",
  inconclusive: "open",
};

function claims(study: StudyRecord): Html | undefined {
  if (study.claims.length === 0) return undefined;
  return section(
    "Claims of published documents",
    html`<dl class="claims">
      ${study.claims.map(
        ({ document, claim, finding, why }) =>
          html`<dt><span class="${CLAIM_CLASSES[finding]}">${CLAIM_FINDING_LABELS[finding]}</span></dt>
            <dd><b>${document}</b>: ${claim}<small>${why}</small></dd>`,
      )}
    </dl>`,
  );
}

function treatments(results: Results, study: StudyRecord): Html {
  const rows = resultRows(results);
  return section(
    "Treatments",
    scrolledTable(
      ["Treatment", "Test", "Throughput", "p99", "Servers' CPU per operation", "Warnings"],
      study.treatments.flatMap(({ id, label, shared, failed }) => {
        const own = rows.filter(({ deployment }) => deployment === id);
        if (own.length === 0)
          return [[label, `not measured${failed === null ? "" : `: ${failed.split("\n")[0] ?? ""}`}`]];
        return own.map((row) => [
          label,
          row.title,
          html`<b>${formatCount(row.rps.median)}</b>/s<small
              >${compact([formatInterval(row.rps, formatCount) || undefined, counted(row.repeats, "round")]).join(", ")}</small
            >`,
          latencyOf(row, row.p99Ms),
          formatCpuPerOperation(row),
          html`<small>${describeWarnings(row, shared)}</small>`,
        ]);
      }),
      { headings: 1 },
    ),
  );
}

function describeWarnings({ warnings }: ResultRow, shared: string | null): string {
  const codes = warnings.map(({ code }) => code);
  return compact([...codes, shared === null ? undefined : `shared CPUs: ${shared}`]).join(", ") || "none";
}

export function studyTables({ study }: Results): Html[] {
  if (study === undefined || study.comparisons.length === 0) return [];
  const name = (id: string): string => study.treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const isInterleaved = study.comparisons.some(({ interleaved }) => interleaved);
  const notes = compact([isInterleaved ? INTERLEAVING_NOTE : undefined, ...intervalNotes(study)]);
  return [
    section(
      "Comparisons",
      html`<p>
        Ratios are paired by round. The interval contains the true ratio in 95 % of studies. ${notes.join(" ")}
      </p>`,
      scrolledTable(
        ["Test", "Metric", "Compared", "Ratio", "95 %", ""],
        study.comparisons.map(({ title, metric, base, other, ratio, low, high, verdict, interleaved }) => [
          title,
          [METRIC_LABELS[metric], interleaved ? html`<small>interleaved</small>` : undefined],
          `${name(other)} / ${name(base)}`,
          ratio === null ? "–" : `${ratio.toFixed(2)}×`,
          low === null || high === null ? "–" : `${low.toFixed(2)} … ${high.toFixed(2)}`,
          VERDICT_LABELS[verdict],
        ]),
      ),
    ),
  ];
}
