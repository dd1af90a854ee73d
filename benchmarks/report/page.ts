import { formatUsd } from "../../lib/dollars";
/** report.html: one file with everything in it, readable on a desk and on a telephone, without a network. Pure. */
import { describeCost, rowCost, storageCost, dataLimitOf } from "../results/cost";
import type { WarningNote } from "../results/formats/warning-notes";
import { warningNotes, NO_WARNINGS, noteLetter } from "../results/formats/warning-notes";
import type { DeploymentComparison, ResultRow } from "../results/rows";
import { compareDeployments } from "../results/rows";
import type { Results, TopologyRecord } from "../results/schema";
import { formatCapacity, describeShape } from "../results/formats/summary";
import { formatBytes, formatCount, formatMs } from "../../lib/units";
import { colourOf } from "./chart-base";
import { measurementCharts } from "./charts";
import { scenarioSections } from "./scenarios";
import { renderFigure } from "./figure";
import type { Html } from "./html";
import { Html as RawHtml, html } from "./html";
import { studyCharts } from "./study-charts";
import { studySections, studyTables } from "./study-page";
import { REPORT_STYLE } from "./style";

/** The whole page as text. */
export function renderReport(results: Results): string {
  const table = compareDeployments(results);
  const notes = warningNotes(table.comparisons.flatMap(({ rows }) => rows.flatMap((row) => row ?? [])));
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Valkey, measured: ${results.stack}, ${results.timestamp}</title>
        <style>
          ${new RawHtml(REPORT_STYLE)}
        </style>
      </head>
      <body>
        <main>
          ${header(results)} ${scenarioSections(results.failures, renderFigure)}
          ${
            results.capacities.length === 0
              ? undefined
              : html`<section>
                  <h2>Capacity</h2>
                  <ul>
                    ${results.capacities.map((each) => html`<li>${formatCapacity(each)}</li>`)}
                  </ul>
                </section>`
          }
          ${firstSections(results, table, notes)} ${costs(results, table)}
          ${table.comparisons.length === 0 ? undefined : warnings(notes)}
          ${(results.study === undefined ? measurementCharts(results) : studyCharts(results)).map(renderFigure)}
          ${studyTables(results)}
          ${results.study === undefined ? [...results.topologies.map(topology), ...results.topologies.map(verification)] : folded("Topologies and their verification", [...results.topologies.map(topology), ...results.topologies.map(verification)])}
          ${environment(results)}
        </main>
      </body>
    </html> `;
  return page.text;
}

function header(results: Results): Html {
  const status = results.complete
    ? undefined
    : html`<p class="warning">
        Incomplete: ${results.reason ?? "the run was stopped"}. What was measured until then is shown.
      </p>`;
  return html`<header>
    <h1>Valkey, measured</h1>
    <p>
      Stack <b>${results.stack}</b>, ${results.timestamp} UTC, ${results.records.length}
      measurements${results.failures.length === 0 ? "" : `, broken on purpose ${results.failures.length} times`}.
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

/** What was measured, side by side or as a study; nothing where other things were done than that. */
function firstSections(
  results: Results,
  table: DeploymentComparison,
  notes: readonly WarningNote[],
): (Html | undefined)[] {
  if (results.study !== undefined) return studySections(results);
  return results.capacities.length + results.failures.length > 0 && table.comparisons.length === 0
    ? []
    : [comparison(table, notes)];
}

/** A study has many of them, all alike. */
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
  return html`<section>
    <h2>Side by side</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Test</th>
            ${deployments.map((name) => html`<th>${name}</th>`)}${compared ? html`<th>${deployments.at(-1)} speed-up</th>` : undefined}
          </tr>
        </thead>
        <tbody>
          ${comparisons.map(
            ({ title, rows, speedUp }) =>
              html`<tr>
                <th>${title}</th>
                ${rows.map((row) => cell(row, notes))}${
                  compared
                    ? html`<td>
                        ${speedUp === undefined ? "–" : html`<b>${speedUp.median.toFixed(2)}×</b><small>${speedUp.low.toFixed(2)} … ${speedUp.high.toFixed(2)}</small>`}
                      </td>`
                    : undefined
                }
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function cell(row: ResultRow | undefined, notes: readonly WarningNote[]): Html {
  if (row === undefined) return html`<td>not measured</td>`;
  const hits = row.hitRatio === null ? "" : `, ${(row.hitRatio * 100).toFixed(1)} % hits`;
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

/** Nothing where no prices are known. */
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
      ${known.map((cost) => html`${cost.deployment}: ${describeCost(cost)}. `)}Machines of servers only.
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
      Figures with a letter are shown with the reasons not to take them at their word; each reason is given with the
      figures of its first case.
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

/** Zones side by side, the nodes of a shard in one colour. */
function topology(record: TopologyRecord): Html {
  const zones = [...new Set(record.nodes.map(({ zone }) => zone ?? "unknown zone"))].sort();
  const shardOf = (name: string): number =>
    record.shards.findIndex(({ primary, replicas }) => primary === name || replicas.includes(name));
  const node = ({ name, role, keysAfter }: TopologyRecord["nodes"][number]): Html => {
    const shard = shardOf(name);
    const slots =
      role === "primary" && record.mode === "cluster"
        ? html`<small>slots ${record.shards[shard]?.slots ?? ""}</small>`
        : undefined;
    const keys =
      role === "primary" && keysAfter !== null ? html`<small>${formatCount(keysAfter)} keys</small>` : undefined;
    const follows =
      role === "replica" ? html`<small>of ${record.shards[shard]?.primary ?? "unknown"}</small>` : undefined;
    return html`<li class="${role}" style="--shard: ${colourOf(shard)}">
      <b>${name}</b> ${role}${slots}${follows}${keys}
    </li>`;
  };
  return html`<section>
    <h2>Topology of ${record.deployment}</h2>
    <div class="zones">
      ${zones.map(
        (zone) =>
          html`<div class="zone">
            <h3>${zone}</h3>
            <ul>
              ${record.nodes.filter((each) => (each.zone ?? "unknown zone") === zone).map(node)}
            </ul>
          </div>`,
      )}
    </div>
    <p class="note">
      Colour is the shard: a primary is filled, its replicas are
      outlined.${record.formationMs === null ? "" : ` Formed in ${(record.formationMs / 1000).toFixed(1)} s.`}
    </p>
  </section>`;
}

function verification(record: TopologyRecord): Html {
  return html`<section>
    <h2>
      Verification of ${record.deployment}:
      <span class="${record.verdict.pass ? "pass" : "fail"}">${record.verdict.pass ? "PASS" : "FAIL"}</span>
    </h2>
    <div class="scroll">
      <table class="assertions">
        <thead>
          <tr>
            <th></th>
            <th>Assertion</th>
            <th>Expected</th>
            <th>Found</th>
          </tr>
        </thead>
        <tbody>
          ${record.verdict.assertions.map(
            (each) =>
              html`<tr>
                <td class="${each.pass ? "pass" : "fail"}">${each.pass ? "✓" : "✗"}</td>
                <td>${each.what}</td>
                <td>${each.expected}</td>
                <td>${each.found}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Machines of a kind in one row. */
function machinesOf({ machines }: Results["environment"]): [string, string][] {
  const kinds = new Map<string, string[]>();
  for (const { name, zone, instanceType, cores, memoryBytes, platform, kernel, system } of machines) {
    const kind = `${instanceType ?? "machine"}, ${cores} cores, ${formatBytes(memoryBytes)}, ${platform}, ${system}, kernel ${kernel}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), zone === null ? name : `${name} in ${zone}`]);
  }
  return [...kinds].map(([kind, names]) => ["Kubernetes", `${names.length} × ${kind}: ${names.join(", ")}`]);
}

function environment({ environment: machine, configuration, referenceLoads }: Results): Html {
  const rows: [string, string][] = [
    [
      "Machine",
      `${machine.cpuModel}, ${machine.coresAvailable} of ${machine.cores} cores, ${formatBytes(machine.memoryBytes)}`,
    ],
    ["System", `${machine.platform}, kernel ${machine.kernel}, Node ${machine.node}`],
    ...machinesOf(machine),
    [
      "Valkey",
      machine.programs === null ? "found elsewhere" : `${machine.programs.version} from ${machine.programs.source}`,
    ],
    [
      "Kernel settings",
      `transparent huge pages ${machine.transparentHugePages ?? "unknown"}, overcommit_memory ${machine.overcommitMemory ?? "unknown"}, somaxconn ${machine.somaxconn ?? "unknown"}, governor ${machine.governor ?? "unknown"}`,
    ],
    ["Load before", machine.loadAverage.map((load) => load.toFixed(2)).join(", ")],
    [
      "Reference load",
      referenceLoads.length === 0
        ? "none ran"
        : `${referenceLoads.map(({ rps }) => formatCount(rps)).join(", ")} PING/s`,
    ],
  ];
  return html`<section>
    <h2>Where this was measured</h2>
    <div class="scroll">
      <table>
        ${rows.map(
          ([name, value]) =>
            html`<tr>
              <th>${name}</th>
              <td>${value}</td>
            </tr>`,
        )}
      </table>
    </div>
    <details>
      <summary>Configuration</summary>
      <pre>${JSON.stringify(configuration, null, 2)}</pre>
    </details>
  </section>`;
}
