/** The part of the report that only a study has. Pure. */
import { formatCount, formatDuration, formatMs } from "../../lib/units";
import { resultRows } from "../results/rows";
import type { Results } from "../results/schema";
import {
  REFERENCE_LOAD_MOVED,
  describeEnd,
  METRIC_LABELS,
  CLAIM_FINDING_LABELS,
  intervalNotes,
  INTERLEAVING_NOTE,
  VERDICT_LABELS,
} from "../results/formats/study-summary";
import type { Claim, StudyRecord } from "../results/study-schema";
import type { Html } from "./html";
import { html } from "./html";

/** What was found, before the charts. */
export function studySections(results: Results): (Html | undefined)[] {
  const { study } = results;
  return study === undefined ? [] : [overview(study), claims(study), treatments(results, study)];
}

/** Every ratio, after them. */
export function studyTables({ study }: Results): Html[] {
  return study === undefined || study.comparisons.length === 0 ? [] : [comparisons(study)];
}

function overview(study: StudyRecord): Html {
  return html`<section>
    <h2>Study ${study.name}</h2>
    <p>
      ${study.rounds} ${study.rounds === 1 ? "round" : "rounds"} of ${study.treatments.length} treatments in
      ${formatDuration(study.elapsedSeconds)}, in random order from seed ${study.seed}; ${describeEnd(study)}.
    </p>
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
  "no-say": "open",
};

function claims(study: StudyRecord): Html | undefined {
  if (study.claims.length === 0) return undefined;
  return html`<section>
    <h2>What the document claims</h2>
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
              ({ title, rps, p99Ms, serverCpu, serverRps, warnings, repeats }) =>
                html`<tr>
                  <th>${label}</th>
                  <td>${title}</td>
                  <td>
                    <b>${formatCount(rps.median)}</b>/s<small
                      >${formatCount(rps.low)} … ${formatCount(rps.high)}, ${repeats} rounds</small
                    >
                  </td>
                  <td>${formatMs(p99Ms)} ms</td>
                  <td>
                    ${serverCpu === null || serverRps === null || serverRps === 0 ? "–" : `${((1e6 * serverCpu) / serverRps).toFixed(2)} µs`}
                  </td>
                  <td>
                    <small
                      >${[...warnings.map(({ code }) => code), ...(shared === null ? [] : [`shared CPUs: ${shared}`])].join(", ") || "none"}</small
                    >
                  </td>
                </tr>`,
            );
          })}
        </tbody>
      </table>
    </div>
  </section>`;
}

function comparisons(study: StudyRecord): Html {
  const name = (id: string): string => study.treatments.find((treatment) => treatment.id === id)?.label ?? id;
  return html`<section>
    <h2>Every comparison</h2>
    <p>
      Ratios are paired by round; the interval holds the true ratio in 95 % of
      studies.${study.comparisons.some(({ interleaved }) => interleaved) ? html` ${INTERLEAVING_NOTE}` : undefined}${intervalNotes(study).map((note) => html` ${note}`)}
    </p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Test</th>
            <th>Figure</th>
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
                <td>${METRIC_LABELS[metric]}${interleaved ? html`<small>side by side</small>` : undefined}</td>
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
