/** report.html: a self-contained page for wide and narrow screens. It needs no network. */
import { compact } from "../../lib/compact";
import { formatUsd } from "../../lib/dollars";
import { formatBytes, formatCount, formatPercent } from "../../lib/units";
import { dataLimitOf, describeCost, rowCost, storageCost } from "../results/cost";
import { describeShape, formatCapacity } from "../results/formats/summary";
import { type WarningNote, NO_WARNINGS, noteLetter, warningNotes } from "../warnings/warning-notes";
import type { DeploymentComparison, ResultRow, TestComparison } from "../results/rows";
import { compareDeployments, formatInterval, latencyOf } from "../results/rows";
import type { MeasuredTopology, Results } from "../results/schema";
import { colourOf, renderFigure } from "./chart";
import { scenarioSections } from "./faults";
import { type Html, html, list, passOrFail, renderPage, scrolledTable, section } from "./html";
import { measurementCharts } from "./run-charts";
import { studyCharts } from "./study-charts";
import { studySections, studyTables } from "./study-page";

export function renderReport(results: Results): string {
  const table = compareDeployments(results);
  const notes = warningNotes(table.comparisons.flatMap(({ rows }) => rows.flatMap((row) => row ?? [])));
  const deployments = [...results.topologies.map(topologySection), ...results.topologies.map(verificationSection)];
  return renderPage(
    `Valkey, measured: ${results.stack}, ${results.timestamp}`,
    html`${header(results)} ${scenarioSections(results.scenarios)}
    ${results.capacities.length === 0 ? undefined : section("Capacity", list(results.capacities.map(formatCapacity)))}
    ${firstSections(results, table, notes)} ${costs(results, table)}
    ${table.comparisons.length === 0 ? undefined : warnings(notes)}
    ${(results.study === undefined ? measurementCharts(results) : studyCharts(results)).map(renderFigure)}
    ${studyTables(results)}
    ${
      results.study === undefined
        ? deployments
        : // A study has many similar sections, so the reader unfolds them.
          html`<details>
            <summary>Topologies and their verification</summary>
            ${deployments}
          </details>`
    }
    ${environmentSection(results)}`,
  );
}

function header(results: Results): Html {
  return html`<header>
    <h1>Valkey, measured</h1>
    <p>
      Stack <b>${results.stack}</b>, ${results.timestamp} UTC, ${results.records.length}
      measurements${results.scenarios.length === 0 ? "" : `, ${results.scenarios.length} scenarios`}.
    </p>
    ${
      results.complete
        ? undefined
        : html`<p class="warning">Incomplete: ${results.reason ?? "the run was stopped"}. Partial results follow.</p>`
    }
    <ul class="deployments">
      ${results.topologies.map(
        (each) =>
          html`<li>
            <b>${each.deployment}</b>: ${describeShape(each)}, ${each.version}
            ${passOrFail(each.verdict.pass, ["verified", "not verified"])}
          </li>`,
      )}
    </ul>
  </header>`;
}

/** For a study its findings, otherwise the comparison of deployments; empty for only capacities or faults. */
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

function comparison({ deployments, comparisons }: DeploymentComparison, notes: readonly WarningNote[]): Html {
  if (comparisons.length === 0) return section("Side by side", html`<p>Nothing was measured side by side.</p>`);
  const compared = deployments.length > 1;
  return section(
    "Side by side",
    scrolledTable(
      compact(["Test", ...deployments, compared ? `${deployments.at(-1) ?? ""} speed-up` : undefined]),
      comparisons.map(({ title, rows, speedUp }) => [
        title,
        ...rows.map((row) => describeResult(row, notes)),
        ...(compared ? [describeSpeedUp(speedUp)] : []),
      ]),
      { headings: 1 },
    ),
  );
}

function describeSpeedUp(speedUp: TestComparison["speedUp"]): Html | string {
  if (speedUp === undefined) return "–";
  const interval = formatInterval(speedUp, (value) => value.toFixed(2));
  return html`<b>${speedUp.median.toFixed(2)}×</b><small>${interval}</small>`;
}

function describeResult(row: ResultRow | undefined, notes: readonly WarningNote[]): Html | string {
  if (row === undefined) return "not measured";
  const hits = row.hitRatio === null ? "" : `, ${formatPercent(row.hitRatio)} hits`;
  const marks = notes.flatMap(({ code }) => {
    const warning = row.warnings.find((each) => each.code === code);
    return warning === undefined
      ? []
      : [html` <span class="mark" title="${warning.text}">${noteLetter(notes, code)}</span>`];
  });
  return html`<b>${formatCount(row.rps.median)}</b>/s${marks}<small>${formatInterval(row.rps, formatCount)}</small
    ><small>p50 ${latencyOf(row, row.p50Ms)}, p99 ${latencyOf(row, row.p99Ms)}${hits}</small>`;
}

function costs(results: Results, { deployments, comparisons }: DeploymentComparison): Html | undefined {
  const { costs: known = [], topologies } = results;
  if (known.length === 0) return undefined;
  const usd = (value: number | null | undefined): string => (typeof value === "number" ? `$${formatUsd(value)}` : "–");
  const priced = deployments.filter((name) => known.some(({ deployment }) => deployment === name));
  const stores = [...new Set(topologies.filter(({ deployment }) => priced.includes(deployment)).map(dataLimitOf))];
  return section(
    "Cost of the servers",
    scrolledTable(
      ["", ...priced],
      [
        ...comparisons.map(({ title, rows }) => [
          `a million ${title}`,
          ...priced.map((name) => {
            const row = rows.find((each) => each?.deployment === name);
            return usd(row === undefined ? null : rowCost(results, row));
          }),
        ]),
        [
          `a GiB of ${stores.sort().join(" or ")}, a month`,
          ...priced.map((name) => {
            const topology = topologies.find(({ deployment }) => deployment === name);
            return usd(topology === undefined ? null : storageCost(results, topology));
          }),
        ],
      ],
      { headings: 1 },
    ),
    html`<p class="note">
      ${known.map((cost) => html`${cost.deployment}: ${describeCost(cost)}. `)}The cost includes only the machines of
      the servers.
    </p>`,
  );
}

function warnings(notes: readonly WarningNote[]): Html {
  if (notes.length === 0) return section("Warnings", html`<p>${NO_WARNINGS}</p>`);
  return section(
    "Warnings",
    html`<p>
        A letter beside a result refers to a warning below: a reason not to trust the result. The figures in a warning
        are those of the first result that it lists.
      </p>
      <dl>
        ${notes.map(
          ({ code, text, where }) =>
            html`<dt><span class="mark">${noteLetter(notes, code)}</span> ${code}</dt>
              <dd>${text}<small>${where.join(", ")}</small></dd>`,
        )}
      </dl>`,
  );
}

function topologySection(record: MeasuredTopology): Html {
  const zoneOf = ({ zone }: MeasuredTopology["nodes"][number]): string => zone ?? "unknown zone";
  const node = ({ name, role, keysAfter }: MeasuredTopology["nodes"][number]): Html => {
    const shard = record.shards.findIndex(({ primary, replicas }) => primary === name || replicas.includes(name));
    const { slots = "", primary = "unknown" } = record.shards[shard] ?? {};
    const notes =
      role === "replica"
        ? [`of ${primary}`]
        : compact([
            record.mode === "cluster" ? `slots ${slots}` : undefined,
            keysAfter === null ? undefined : `${formatCount(keysAfter)} keys`,
          ]);
    return html`<li class="${role}" style="--shard: ${colourOf(shard)}">
      <b>${name}</b> ${role}${notes.map((note) => html`<small>${note}</small>`)}
    </li>`;
  };
  return section(
    `Topology of ${record.deployment}`,
    html`<div class="zones">
        ${[...new Set(record.nodes.map(zoneOf))].sort().map(
          (zone) =>
            html`<div class="zone">
              <h3>${zone}</h3>
              <ul>
                ${record.nodes.filter((each) => zoneOf(each) === zone).map(node)}
              </ul>
            </div>`,
        )}
      </div>
      <p class="note">
        Each shard has a colour: its primary is filled, its replicas are
        outlined.${record.formationMs === null ? "" : ` Formed in ${(record.formationMs / 1000).toFixed(1)} s.`}
      </p>`,
  );
}

function verificationSection({ deployment, verdict }: MeasuredTopology): Html {
  return section(
    html`Verification of ${deployment}: ${passOrFail(verdict.pass, ["PASS", "FAIL"])}`,
    scrolledTable(
      ["", "Assertion", "Expected", "Found"],
      verdict.assertions.map(({ pass, what, expected, found }) => [
        passOrFail(pass, ["✓", "✗"]),
        what,
        expected,
        found,
      ]),
      { isSmall: true },
    ),
  );
}

function machinesOf({ machines }: Results["environment"]): [string, string][] {
  const kinds = new Map<string, string[]>();
  for (const { name, zone, instanceType, cores, memoryBytes, platform, kernel, system } of machines) {
    const size = `${instanceType ?? "machine"}, ${cores} cores, ${formatBytes(memoryBytes)}`;
    const kind = `${size}, ${platform}, ${system}, kernel ${kernel}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), zone === null ? name : `${name} in ${zone}`]);
  }
  return [...kinds].map(([kind, names]) => ["Kubernetes", `${names.length} × ${kind}: ${names.join(", ")}`]);
}

function environmentSection({ environment: machine, configuration, referenceLoads }: Results): Html {
  const { programs } = machine;
  const cores = `${machine.coresAvailable} of ${machine.cores} cores`;
  const kernelSettings = [
    `transparent huge pages ${machine.transparentHugePages ?? "unknown"}`,
    `overcommit_memory ${machine.overcommitMemory ?? "unknown"}`,
    `somaxconn ${machine.somaxconn ?? "unknown"}`,
    `governor ${machine.governor ?? "unknown"}`,
  ];
  const rates = referenceLoads.map(({ rps }) => formatCount(rps));
  return section(
    "Environment",
    scrolledTable(
      [],
      [
        ["Machine", `${machine.cpuModel}, ${cores}, ${formatBytes(machine.memoryBytes)}`],
        ["System", `${machine.platform}, kernel ${machine.kernel}, Node ${machine.node}`],
        ...machinesOf(machine),
        ["Valkey", programs === null ? "not started by this program" : `${programs.version} from ${programs.source}`],
        ["Kernel settings", kernelSettings.join(", ")],
        ["Load average before the run", machine.loadAverage.map((load) => load.toFixed(2)).join(", ")],
        ["Reference load", rates.length === 0 ? "not measured" : `${rates.join(", ")} PING/s`],
      ],
      { headings: 1 },
    ),
    html`<details>
      <summary>Configuration</summary>
      <pre>${JSON.stringify(configuration, null, 2)}</pre>
    </details>`,
  );
}
