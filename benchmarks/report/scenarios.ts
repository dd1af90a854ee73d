/** The sections of the report about faults. Pure. */
import { compact } from "../../lib/compact";
import type { ScenarioRow } from "../results/scenario-rows";
import {
  scenarioRows,
  formatSpread,
  scenarioRemarks,
  OUTAGE_NOTE,
  formatTailLatencies,
} from "../results/scenario-rows";
import type { ScenarioRecord } from "../../faults/scenarios/record-schema";
import { formatCount } from "../../lib/units";
import type { Chart } from "./chart-base";
import { scenarioChart } from "./scenario-chart";
import type { Html } from "./html";
import { html } from "./html";

/**
 * A table of all scenarios, followed by a chart and details of each scenario. The chart shows the round with the
 * longest outage.
 */
export function scenarioSections(scenarios: readonly ScenarioRecord[], figure: (chart: Chart) => Html): Html[] {
  const rows = scenarioRows(scenarios);
  if (rows.length === 0) return [];
  return [overview(rows), ...rows.flatMap((row) => [figure(scenarioChart(worst(row.records))), details(row)])];
}

function overview(rows: readonly ScenarioRow[]): Html {
  return html`<section>
    <h2>Faults</h2>
    <p>${OUTAGE_NOTE}</p>
    <div class="scroll">
      <table class="assertions">
        <thead>
          <tr>
            <th>Scenario</th>
            <th>On</th>
            <th>Outage</th>
            <th>State ok</th>
            <th>Redundant</th>
            <th>Verified</th>
            <th>Failed</th>
            <th>Unknown</th>
            <th>p99 before / during / after, ms</th>
            <th>Acknowledged</th>
            <th>Lost</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) =>
              html`<tr>
                <th>
                  ${row.scenario}<small
                    >${row.description}${row.records.length > 1 ? `, ${row.records.length} times` : ""}</small
                  >
                </th>
                <td>${row.deployment}</td>
                <td>${formatSpread(row.outage)}</td>
                <td>${formatSpread(row.clusterOk)}</td>
                <td>${formatSpread(row.redundant)}</td>
                <td>${formatSpread(row.verified)}</td>
                <td>${formatCount(row.failed)}</td>
                <td>${formatCount(row.unknown)}</td>
                <td>${formatTailLatencies(row)}</td>
                <td>${formatCount(row.acknowledged)}</td>
                <td class="${row.lost === 0 ? "pass" : "fail"}">${formatCount(row.lost)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function details(row: ScenarioRow): Html {
  const record = worst(row.records);
  const shards = record.shards.filter(({ longestMs }) => longestMs > 0);
  const warnings = new Set(row.records.flatMap((each) => each.warnings));
  const settings = Object.entries(record.settings).map(([name, value]) => `${name} ${value}`);
  const conditions = compact([
    `${formatCount(record.load.rate)} writes/s of ${record.load.bytes} B`,
    record.load.replicas === 0
      ? "acknowledged by the primary"
      : `acknowledged by the primary and ${record.load.replicas} replicas`,
    record.nodeTimeoutMs === null ? undefined : `node timeout ${record.nodeTimeoutMs} ms`,
    ...settings,
  ]);
  return html`<section>
    <h3>${row.scenario} on ${row.deployment}</h3>
    <p>${conditions.join(", ")}.</p>
    <ul>
      ${[...warnings, ...scenarioRemarks(row)].map((remark) => html`<li>${remark}</li>`)}
    </ul>
    <p>${describeErrors(record)}.</p>
    ${
      shards.length === 0
        ? undefined
        : html`<details>
            <summary>Outage of each shard</summary>
            <table class="assertions">
              <thead>
                <tr>
                  <th>Primary before</th>
                  <th>Slots</th>
                  <th>Longest</th>
                  <th>Recovered after</th>
                </tr>
              </thead>
              <tbody>
                ${shards.map(
                  ({ primary, slots, longestMs, overMs }) =>
                    html`<tr>
                      <td>${primary ?? "unknown"}</td>
                      <td>${slots}</td>
                      <td>${Math.round(longestMs)} ms</td>
                      <td>${overMs === null ? "not recovered" : `${Math.round(overMs)} ms`}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </details>`
    }
    ${
      record.lost.count === 0
        ? undefined
        : html`<details>
            <summary>
              ${formatCount(record.lost.count)} acknowledged writes
              lost${record.lost.writes.length < record.lost.count ? `, the first ${record.lost.writes.length}` : ""}
            </summary>
            <pre>
${record.lost.writes.map(({ key, number, found }) => `${key} ${number}: ${typeof found === "number" ? `holds write ${found}` : found}\n`).join("")}</pre>
          </details>`
    }
  </section>`;
}

/** Errors as text: `No write failed`, or `Errors: timeout 12 (unknown)`. */
function describeErrors({ errors }: ScenarioRecord): string {
  const counts = errors.map(({ error, outcome, count }) => `${error} ${formatCount(count)} (${outcome})`);
  return counts.length === 0 ? "No write failed" : `Errors: ${counts.join(", ")}`;
}

/** The record with the longest outage. */
function worst(records: readonly ScenarioRecord[]): ScenarioRecord {
  const [first, ...others] = records;
  if (first === undefined) throw new Error("a scenario row has no records");
  return others.reduce((a, b) => ((b.outage.overMs ?? Infinity) > (a.outage.overMs ?? Infinity) ? b : a), first);
}
