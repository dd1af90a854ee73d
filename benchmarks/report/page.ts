/** report.html: a self-contained page for wide and narrow screens. It needs no network. Pure. */
import { compact } from "../../lib/compact";
import { formatUsd } from "../../lib/dollars";
import { formatCount, formatMs, formatPercent } from "../../lib/units";
import { dataLimitOf, describeCost, rowCost, storageCost } from "../results/cost";
import { describeShape, formatCapacity } from "../results/formats/summary";
import type { WarningNote } from "../warnings/warning-notes";
import { NO_WARNINGS, noteLetter, warningNotes } from "../warnings/warning-notes";
import type { DeploymentComparison, ResultRow, TestComparison } from "../results/rows";
import { compareDeployments } from "../results/rows";
import type { Results } from "../results/schema";
import { measurementCharts } from "./run-charts";
import { topologySection, verificationSection } from "./deployment-sections";
import { environmentSection } from "./environment-section";
import { renderFigure } from "./figure";
import type { Html } from "./html";
import { html } from "./html";
import { scenarioSections } from "./scenarios";
import { studyCharts } from "./study-charts";
import { studySections, studyTables } from "./study-page";
import { renderPage } from "./html-page";

/** The whole text of report.html. */
export function renderReport(results: Results): string {
  const table = compareDeployments(results);
  const notes = warningNotes(table.comparisons.flatMap(({ rows }) => rows.flatMap((row) => row ?? [])));
  const deployments = [...results.topologies.map(topologySection), ...results.topologies.map(verificationSection)];
  return renderPage(
    `Valkey, measured: ${results.stack}, ${results.timestamp}`,
    html`${header(results)} ${scenarioSections(results.scenarios, renderFigure)} ${capacities(results)}
    ${firstSections(results, table, notes)} ${costs(results, table)}
    ${table.comparisons.length === 0 ? undefined : warnings(notes)}
    ${(results.study === undefined ? measurementCharts(results) : studyCharts(results)).map(renderFigure)}
    ${studyTables(results)}
    ${results.study === undefined ? deployments : folded("Topologies and their verification", deployments)}
    ${environmentSection(results)}`,
  );
}

function capacities({ capacities: found }: Results): Html | undefined {
  if (found.length === 0) return undefined;
  return html`<section>
    <h2>Capacity</h2>
    <ul>
      ${found.map((each) => html`<li>${formatCapacity(each)}</li>`)}
    </ul>
  </section>`;
}

function header(results: Results): Html {
  const status = results.complete
    ? undefined
    : html`<p class="warning">Incomplete: ${results.reason ?? "the run was stopped"}. Partial results follow.</p>`;
  return html`<header>
    <h1>Valkey, measured</h1>
    <p>
      Stack <b>${results.stack}</b>, ${results.timestamp} UTC, ${results.records.length}
      measurements${results.scenarios.length === 0 ? "" : `, ${results.scenarios.length} scenarios`}.
    </p>
    ${status}
    <ul class="deployments">
      ${results.topologies.map(
        (each) =>
          html`<li>
            <b>${each.deployment}</b>: ${describeShape(each)}, ${each.version}
            <span class="${each.verdict.pass ? "pass" : "fail"}"
              >${each.verdict.pass ? "verified" : "not verified"}</span
            >
          </li>`,
      )}
    </ul>
  </header>`;
}

/**
 * First sections of the report: for a study its findings, otherwise the comparison of deployments. The list is empty if
 * the run measured only capacities or faults.
 */
function firstSections(
  results: Results,
  table: DeploymentComparison,
  notes: readonly WarningNote[],
): (Html | undefined)[] {
  if (results.study !== undefined) return studySections(results);
  return results.capacities.length + results.scenarios.length > 0 && table.comparisons.length === 0
    ? []
    : [comparison(table, notes)];
}

/** Puts sections behind a summary line that the reader can unfold, because a study has many similar sections. */
function folded(title: string, sections: readonly Html[]): Html {
  return html`<details>
    <summary>${title}</summary>
    ${sections}
  </details>`;
}

function comparison({ deployments, comparisons }: DeploymentComparison, notes: readonly WarningNote[]): Html {
  if (comparisons.length === 0)
    return html`<section>
      <h2>Side by side</h2>
      <p>Nothing was measured side by side.</p>
    </section>`;
  const compared = deployments.length > 1;
  const columns = compact([...deployments, compared ? `${deployments.at(-1) ?? ""} speed-up` : undefined]);
  return html`<section>
    <h2>Side by side</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Test</th>
            ${columns.map((name) => html`<th>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${comparisons.map(
            ({ title, rows, speedUp }) =>
              html`<tr>
                <th>${title}</th>
                ${rows.map((row) => cell(row, notes))}${compared ? html`<td>${speedUpOf(speedUp)}</td>` : undefined}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function speedUpOf(speedUp: TestComparison["speedUp"]): Html | string {
  if (speedUp === undefined) return "–";
  const interval = `${speedUp.low.toFixed(2)} … ${speedUp.high.toFixed(2)}`;
  return html`<b>${speedUp.median.toFixed(2)}×</b><small>${interval}</small>`;
}

/** Table cell with a result: throughput with its interval, latencies, and the letters of its warnings. */
function cell(row: ResultRow | undefined, notes: readonly WarningNote[]): Html {
  if (row === undefined) return html`<td>not measured</td>`;
  const hits = row.hitRatio === null ? "" : `, ${formatPercent(row.hitRatio)} hits`;
  const marks = notes.flatMap(({ code }) => {
    const warning = row.warnings.find((each) => each.code === code);
    return warning === undefined
      ? []
      : [html` <span class="mark" title="${warning.text}">${noteLetter(notes, code)}</span>`];
  });
  return html`<td>
    <b>${formatCount(row.rps.median)}</b>/s${marks}<small
      >${formatCount(row.rps.low)} … ${formatCount(row.rps.high)}</small
    ><small>p50 ${formatMs(row.p50Ms)} ms, p99 ${formatMs(row.p99Ms)} ms${hits}</small>
  </td>`;
}

/** The costs of the deployments; undefined if no prices are known. */
function costs(results: Results, { deployments, comparisons }: DeploymentComparison): Html | undefined {
  const { costs: known = [] } = results;
  if (known.length === 0) return undefined;
  const usd = (value: number | null): string => (value === null ? "–" : `$${formatUsd(value)}`);
  const priced = deployments.filter((name) => known.some(({ deployment }) => deployment === name));
  const storage = (name: string): number | null =>
    results.topologies.flatMap((each) => (each.deployment === name ? [storageCost(results, each)] : []))[0] ?? null;
  const stores = [
    ...new Set(results.topologies.filter(({ deployment }) => priced.includes(deployment)).map(dataLimitOf)),
  ].sort();
  return html`<section>
    <h2>Cost of the servers</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th></th>
            ${priced.map((name) => html`<th>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${comparisons.map(
            ({ title, rows }) =>
              html`<tr>
                <th>a million ${title}</th>
                ${priced.map((name) => {
                  const row = rows.find((each) => each?.deployment === name);
                  return html`<td>${usd(row === undefined ? null : rowCost(results, row))}</td>`;
                })}
              </tr>`,
          )}
          <tr>
            <th>a GiB of ${stores.join(" or ")}, a month</th>
            ${priced.map((name) => html`<td>${usd(storage(name))}</td>`)}
          </tr>
        </tbody>
      </table>
    </div>
    <p class="note">
      ${known.map((cost) => html`${cost.deployment}: ${describeCost(cost)}. `)}The cost includes only the machines of
      the servers.
    </p>
  </section>`;
}

function warnings(notes: readonly WarningNote[]): Html {
  if (notes.length === 0)
    return html`<section>
      <h2>Warnings</h2>
      <p>${NO_WARNINGS}</p>
    </section>`;
  return html`<section>
    <h2>Warnings</h2>
    <p>
      A letter beside a result refers to a warning: a reason not to trust the result. Each warning has the text of the
      first result that it concerns.
    </p>
    <dl>
      ${notes.map(
        ({ code, text, where }) =>
          html`<dt><span class="mark">${noteLetter(notes, code)}</span> ${code}</dt>
            <dd>${text}<small>${where.join(", ")}</small></dd>`,
      )}
    </dl>
  </section>`;
}
