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
import type { CustomSeriesOption, LineSeriesOption } from "echarts";
import { type ByWidth, type Chart, type Width, GRID_COLOUR, guide, line, renderFigure, TEXT_COLOUR } from "./chart";
import { type Html, html, list, passOrFail, plainTable, scrolledTable, section } from "./html";

/** The chart shows the round with the longest outage. */
export function scenarioSections(scenarios: readonly ScenarioRecord[]): Html[] {
  const rows = scenarioRows(scenarios);
  if (rows.length === 0) return [];
  return [overview(rows), ...rows.flatMap((row) => [renderFigure(timeline(worst(row.records))), details(row)])];
}

function overview(rows: readonly ScenarioRow[]): Html {
  return section(
    "Faults",
    html`<p>${OUTAGE_NOTE}</p>`,
    scrolledTable(
      [
        ...["Scenario", "On", "Outage", "State ok", "Redundant", "Verified", "Failed", "Unknown"],
        ...["p99 before / during / after, ms", "Acknowledged", "Lost"],
      ],
      rows.map((row) => [
        html`${row.scenario}<small
            >${row.description}${row.records.length > 1 ? `, ${row.records.length} times` : ""}</small
          >`,
        row.deployment,
        ...[row.outage, row.clusterOk, row.redundant, row.verified].map(formatSpread),
        formatCount(row.failed),
        formatCount(row.unknown),
        formatTailLatencies(row),
        formatCount(row.acknowledged),
        passOrFail(row.lost === 0, [formatCount(row.lost), formatCount(row.lost)]),
      ]),
      { headings: 1, isSmall: true },
    ),
  );
}

function details(row: ScenarioRow): Html {
  const { load, nodeTimeoutMs, settings, shards, lost, errors } = worst(row.records);
  const warnings = new Set(row.records.flatMap((each) => each.warnings));
  const conditions = compact([
    `${formatCount(load.rate)} writes/s of ${load.bytes} B`,
    load.replicas === 0 ? "acknowledged by the primary" : `acknowledged by the primary and ${load.replicas} replicas`,
    nodeTimeoutMs === null ? undefined : `node timeout ${nodeTimeoutMs} ms`,
    ...Object.entries(settings).map(([name, value]) => `${name} ${value}`),
  ]);
  const failed = errors.map(({ error, outcome, count }) => `${error} ${formatCount(count)} (${outcome})`);
  const outages = shards
    .filter(({ longestMs }) => longestMs > 0)
    .map(({ primary, slots, longestMs, overMs }) => [
      primary ?? "unknown",
      slots,
      `${Math.round(longestMs)} ms`,
      overMs === null ? "not recovered" : `${Math.round(overMs)} ms`,
    ]);
  const writes = lost.writes.map(
    ({ key, number, found }) => `${key} ${number}: ${typeof found === "number" ? `holds write ${found}` : found}\n`,
  );
  return html`<section>
    <h3>${row.scenario} on ${row.deployment}</h3>
    <p>${conditions.join(", ")}.</p>
    ${list([...warnings, ...scenarioRemarks(row)])}
    <p>${failed.length === 0 ? "No write failed" : `Errors: ${failed.join(", ")}`}.</p>
    ${
      outages.length === 0
        ? undefined
        : html`<details>
            <summary>Outage of each shard</summary>
            ${plainTable(["Primary before", "Slots", "Longest", "Recovered after"], outages, { isSmall: true })}
          </details>`
    }
    ${
      lost.count === 0
        ? undefined
        : html`<details>
            <summary>
              ${formatCount(lost.count)} acknowledged writes
              lost${writes.length < lost.count ? `, the first ${writes.length}` : ""}
            </summary>
            <pre>${writes.join("")}</pre>
          </details>`
    }
  </section>`;
}

function worst(records: readonly ScenarioRecord[]): ScenarioRecord {
  const [first, ...others] = records;
  if (first === undefined) throw new Error("a scenario row has no records");
  return others.reduce((a, b) => ((b.outage.overMs ?? Infinity) > (a.outage.overMs ?? Infinity) ? b : a), first);
}

const OUTCOMES = [
  { name: "acknowledged", colour: "#009e73" },
  { name: "failed", colour: "#d55e00" },
  { name: "unknown", colour: "#e69f00" },
] as const;
const STATES = [
  { name: "primary", colour: "#0072b2" },
  { name: "replica", colour: "#56b4e9" },
  { name: "replica, not linked", colour: "#c9e4f5" },
  { name: "primary without slots", colour: "#cc79a7" },
  { name: "primary, cluster down", colour: "#d55e00" },
  { name: "silent", colour: TEXT_COLOUR },
];

const TOP = { wide: 190, narrow: 150 } as const;
const ROW = 16;
const MAX_NODES = 40;
const MAX_EVENTS = 12;

function timeline(record: ScenarioRecord): Chart {
  const { round, events, states, timeline: times } = record;
  const nodes = shownNodes(record);
  const outcomes = OUTCOMES.filter(({ name }) => times[name].some((count) => count > 0));
  const listed = events.slice(0, MAX_EVENTS).map(({ atMs, what }) => `${(atMs / 1000).toFixed(1)} s: ${what}`);
  const last = (times.fromMs + times.stepMs * times.acknowledged.length) / 1000;
  const label = (width: Width): { fontSize: number } => ({ fontSize: width === "wide" ? 12 : 10 });
  const x: Chart["x"] = (width) => ({
    type: "value",
    min: times.fromMs / 1000,
    max: last,
    axisLabel: { ...label(width), formatter: (value: number) => (Number.isInteger(value) ? `${value} s` : "") },
    splitLine: { show: false },
  });
  const grids = (top: (width: Width) => number, height: (width: Width) => number): NonNullable<Chart["grid"]> => ({
    wide: { left: 120, right: 24, top: top("wide"), height: height("wide") },
    narrow: { left: 84, right: 12, top: top("narrow"), height: height("narrow") },
  });
  const heights: ByWidth<number> = {
    wide: TOP.wide + 100 + nodes.length * ROW,
    narrow: TOP.narrow + 100 + nodes.length * ROW,
  };
  return {
    id: `failure-${record.id}`,
    title: `${record.scenario} on ${record.deployment}`,
    caption:
      "Writes per second by outcome, and the state of each node, over the seconds since the fault" +
      `${round > 1 ? `, round ${round}` : ""}. ${listed.join(" · ")}`,
    legend: [...outcomes, ...STATES.filter(({ name }) => states.some(({ state }) => state === name))],
    heights,
    grid: grids(
      () => 12,
      (width) => TOP[width],
    ),
    x,
    y: (width) => ({ type: "value", axisLabel: label(width) }),
    marks: () => [
      ...outcomes.map(({ name, colour }): LineSeriesOption =>
        line({
          colour,
          size: 1.5,
          points: times[name].map((count, step): [number, number] => [
            (times.fromMs + step * times.stepMs) / 1000,
            (count * 1000) / times.stepMs,
          ]),
          step: "end",
          lineStyle: { type: name === "acknowledged" ? "solid" : "dashed" },
          areaStyle: { color: colour, opacity: 0.15 },
        }),
      ),
      guide({ xAxis: 0 }, { type: "dotted" }),
    ],
    below: {
      grid: grids(
        (width) => TOP[width] + 52,
        () => nodes.length * ROW,
      ),
      x,
      y: (width) => ({ type: "category", data: nodes, inverse: true, axisLabel: { ...label(width), interval: 0 } }),
      marks: () => [stateBars(record, nodes, last)],
    },
  };
}

/** At most `MAX_NODES`; if there are more, only nodes whose state changed. */
function shownNodes({ states }: ScenarioRecord): string[] {
  const names = [...new Set(states.map(({ node }) => node))];
  const changed = names.filter((name) => states.filter(({ node }) => node === name).length > 1).slice(0, MAX_NODES);
  return (names.length <= MAX_NODES ? names : changed).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

function stateBars(
  { states, timeline: { fromMs } }: ScenarioRecord,
  nodes: readonly string[],
  last: number,
): CustomSeriesOption {
  const bars = nodes.flatMap((node, row) => {
    const own = states.filter((change) => change.node === node).sort((a, b) => a.atMs - b.atMs);
    return own.map(({ atMs, state }, index) => ({
      data: [row, Math.max(atMs, fromMs) / 1000, Math.min((own[index + 1]?.atMs ?? Infinity) / 1000, last)],
      colour: STATES.find(({ name }) => name === state)?.colour ?? GRID_COLOUR,
    }));
  });
  return {
    type: "custom",
    silent: true,
    encode: { x: [1, 2], y: 0 },
    data: bars.map(({ data }) => data),
    renderItem: (parameters, api) => {
      const [x1 = 0, y = 0] = api.coord([api.value(1), api.value(0)]);
      const [x2 = 0] = api.coord([api.value(2), api.value(0)]);
      return {
        type: "rect",
        shape: { x: x1, y: y - ROW / 2 + 2, width: Math.max(0, x2 - x1), height: ROW - 4 },
        style: { fill: bars[parameters.dataIndex]?.colour ?? GRID_COLOUR },
      };
    },
  };
}
