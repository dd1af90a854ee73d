/** Sections that only the report of a study has. Pure. */
import { compact } from "../../lib/compact";
import { formatCount, formatMs } from "../../lib/units";
import type { ResultRow } from "../results/rows";
import { formatCpuPerOperation, resultRows } from "../results/rows";
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
import type { Html } from "./html";
import { html } from "./html";

/** Sections above the charts: findings, claims, treatments. */
export function studySections(results: Results): (Html | undefined)[] {
  const { study } = results;
  return study === undefined ? [] : [overview(study), claims(study), treatments(results, study)];
}

/** The section below the charts: all comparisons. */
export function studyTables({ study }: Results): Html[] {
  return study === undefined || study.comparisons.length === 0 ? [] : [comparisons(study)];
}

function overview(study: StudyRecord): Html {
  return html`<section>
    <h2>Study ${study.name}</h2>
    <p>${describeExtent(study)}, in random order from seed ${study.seed}; ${describeEnd(study)}.</p>
    ${study.referenceLoadMoved ? html`<p class="warning">${REFERENCE_LOAD_MOVED}</p>` : undefined}
    ${
      study.findings.length === 0
        ? undefined
        : html`<ul>
            ${study.findings.map((finding) => html`<li>${finding}</li>`)}
          </ul>`
    }
  </section>`;
}

const CLAIM_CLASSES: Readonly<Record<Claim["finding"], string>> = {
  supported: "pass",
  contradicted: "fail",
  inconclusive: "open",
};

function claims(study: StudyRecord): Html | undefined {
  if (study.claims.length === 0) return undefined;
  return html`<section>
    <h2>Claims of published documents</h2>
    <dl class="claims">
      ${study.claims.map(
        ({ document, claim, finding, why }) =>
          html`<dt><span class="${CLAIM_CLASSES[finding]}">${CLAIM_FINDING_LABELS[finding]}</span></dt>
            <dd><b>${document}</b>: ${claim}<small>${why}</small></dd>`,
      )}
    </dl>
  </section>`;
}

function treatments(results: Results, study: StudyRecord): Html {
  const rows = resultRows(results);
  return html`<section>
    <h2>Treatments</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Treatment</th>
            <th>Test</th>
            <th>Throughput</th>
            <th>p99</th>
            <th>Servers' CPU per operation</th>
            <th>Warnings</th>
          </tr>
        </thead>
        <tbody>
          ${study.treatments.map(({ id, label, shared, failed }) => {
            const own = rows.filter(({ deployment }) => deployment === id);
            if (own.length === 0)
              return html`<tr>
                <th>${label}</th>
                <td>not measured${failed === null ? "" : `: ${failed.split("\n")[0] ?? ""}`}</td>
              </tr>`;
            return own.map(
              (row) =>
                html`<tr>
                  <th>${label}</th>
                  <td>${row.title}</td>
                  <td>
                    <b>${formatCount(row.rps.median)}</b>/s<small
                      >${formatCount(row.rps.low)} … ${formatCount(row.rps.high)}, ${row.repeats} rounds</small
                    >
                  </td>
                  <td>${formatMs(row.p99Ms)} ms</td>
                  <td>${formatCpuPerOperation(row)}</td>
                  <td><small>${describeWarnings(row, shared)}</small></td>
                </tr>`,
            );
          })}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Warnings as text, such as `neighbour, shared CPUs: 2 servers …`, or `none`. */
function describeWarnings({ warnings }: ResultRow, shared: string | null): string {
  const codes = warnings.map(({ code }) => code);
  return compact([...codes, shared === null ? undefined : `shared CPUs: ${shared}`]).join(", ") || "none";
}

function comparisons(study: StudyRecord): Html {
  const name = (id: string): string => study.treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const isInterleaved = study.comparisons.some(({ interleaved }) => interleaved);
  const notes = compact([isInterleaved ? INTERLEAVING_NOTE : undefined, ...intervalNotes(study)]);
  return html`<section>
    <h2>Comparisons</h2>
    <p>Ratios are paired by round. The interval contains the true ratio in 95 % of studies. ${notes.join(" ")}</p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Test</th>
            <th>Metric</th>
            <th>Compared</th>
            <th>Ratio</th>
            <th>95 %</th>
            <th></th>
          </tr>
        </thead>
        <tbody>
          ${study.comparisons.map(
            ({ title, metric, base, other, ratio, low, high, verdict, interleaved }) =>
              html`<tr>
                <td>${title}</td>
                <td>${METRIC_LABELS[metric]}${interleaved ? html`<small>interleaved</small>` : undefined}</td>
                <td>${name(other)} / ${name(base)}</td>
                <td>${ratio === null ? "–" : `${ratio.toFixed(2)}×`}</td>
                <td>${low === null || high === null ? "–" : `${low.toFixed(2)} … ${high.toFixed(2)}`}</td>
                <td>${VERDICT_LABELS[verdict]}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
