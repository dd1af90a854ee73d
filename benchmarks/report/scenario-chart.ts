/**
 * The timeline of a scenario. The upper part shows the outcomes of writes, and the lower part shows the states of
 * nodes. Pure.
 */
import type { EChartsOption, SeriesOption } from "echarts";
import type { ScenarioRecord } from "../../faults/scenarios/record-schema";
import type { Chart, Width } from "./chart-base";
import { chartBase, TEXT_COLOUR, GRID_COLOUR } from "./chart-base";
/** Colors of Okabe and Ito. Readers with color blindness can tell these colors apart. */
const OUTCOMES = { acknowledged: "#009e73", failed: "#d55e00", unknown: "#e69f00" } as const;
const STATES: readonly (readonly [name: string, colour: string])[] = [
  ["primary", "#0072b2"],
  ["replica", "#56b4e9"],
  ["replica, not linked", "#c9e4f5"],
  ["primary without slots", "#cc79a7"],
  ["primary, cluster down", "#d55e00"],
  ["silent", TEXT_COLOUR],
];

const TOP = { wide: 190, narrow: 150 } as const;
const ROW = 16;
const MAX_NODES = 40;

export function scenarioChart(record: ScenarioRecord): Chart {
  const nodes = shownNodes(record);
  const states = new Set(record.states.map(({ state }) => state));
  const height = (width: Width): number => TOP[width] + 60 + nodes.length * ROW + 40;
  return {
    id: `failure-${record.id}`,
    title: `${record.scenario} on ${record.deployment}`,
    caption: captionOf(record),
    legend: [
      ...Object.entries(OUTCOMES)
        .filter(([name]) => record.timeline[name as keyof typeof OUTCOMES].some((count) => count > 0))
        .map(([name, colour]) => ({ name, colour })),
      ...STATES.filter(([name]) => states.has(name)).map(([name, colour]) => ({ name, colour })),
    ],
    heights: { wide: height("wide"), narrow: height("narrow") },
    option: (width) => option(record, nodes, width),
  };
}

/** Maximum number of events that the caption lists. */
const MAX_EVENTS = 12;

function captionOf({ round, events }: ScenarioRecord): string {
  const which = round > 1 ? `, round ${round}` : "";
  const listed = events.slice(0, MAX_EVENTS).map(({ atMs, what }) => `${(atMs / 1000).toFixed(1)} s: ${what}`);
  return `Writes per second by outcome, and the state of each node, over the seconds since the fault${which}. ${listed.join(" · ")}`;
}

/**
 * Returns the names of all nodes. If there are more than `MAX_NODES` nodes, it returns only nodes whose state changed,
 * and at most `MAX_NODES` of them.
 */
function shownNodes({ states }: ScenarioRecord): string[] {
  const names = [...new Set(states.map(({ node }) => node))];
  if (names.length <= MAX_NODES) return names.sort(byNumber);
  return names
    .filter((name) => states.filter(({ node }) => node === name).length > 1)
    .slice(0, MAX_NODES)
    .sort(byNumber);
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

function option(record: ScenarioRecord, nodes: readonly string[], width: Width): EChartsOption {
  const { fromMs, stepMs, acknowledged } = record.timeline;
  const [first, last] = [fromMs / 1000, (fromMs + stepMs * acknowledged.length) / 1000];
  const left = width === "wide" ? 120 : 84;
  const right = width === "wide" ? 24 : 12;
  const label = { color: TEXT_COLOUR, fontSize: width === "wide" ? 12 : 10 };
  const time = {
    type: "value" as const,
    min: first,
    max: last,
    axisLabel: { ...label, formatter: (value: number) => (Number.isInteger(value) ? `${value} s` : "") },
    splitLine: { show: false },
  };
  return {
    ...chartBase(width),
    grid: [
      { left, right, top: 12, height: TOP[width] },
      { left, right, top: TOP[width] + 52, height: nodes.length * ROW },
    ],
    xAxis: [
      { ...time, gridIndex: 0 },
      { ...time, gridIndex: 1 },
    ],
    yAxis: [
      { type: "value", gridIndex: 0, axisLabel: label, splitLine: { lineStyle: { color: GRID_COLOUR } } },
      {
        type: "category",
        gridIndex: 1,
        data: [...nodes],
        inverse: true,
        axisLabel: { ...label, interval: 0 },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: GRID_COLOUR } },
      },
    ],
    series: [...outcomes(record), stateBars(record, nodes, last)],
  };
}

function outcomes({ timeline }: ScenarioRecord): SeriesOption[] {
  const { fromMs, stepMs } = timeline;
  return Object.entries(OUTCOMES).flatMap(([name, colour], index): SeriesOption[] => {
    const counts = timeline[name as keyof typeof OUTCOMES];
    if (counts.every((count) => count === 0)) return [];
    return [
      {
        type: "line",
        name,
        xAxisIndex: 0,
        yAxisIndex: 0,
        step: "end",
        symbol: "none",
        lineStyle: { width: 1.5, color: colour, type: index === 0 ? "solid" : "dashed" },
        areaStyle: { color: colour, opacity: 0.15 },
        data: counts.map((count, step) => [(fromMs + step * stepMs) / 1000, (count * 1000) / stepMs]),
        ...(index === 0
          ? {
              markLine: {
                silent: true,
                symbol: "none",
                label: { show: false },
                lineStyle: { color: TEXT_COLOUR, type: "dotted" as const },
                data: [{ xAxis: 0 }],
              },
            }
          : {}),
      },
    ];
  });
}

/** Draws a bar for each state of a node, from the beginning of the state to its end. */
function stateBars({ states, timeline }: ScenarioRecord, nodes: readonly string[], last: number): SeriesOption {
  const colours = new Map(STATES);
  const bars = nodes.flatMap((node, row) => {
    const own = states.filter((change) => change.node === node).sort((a, b) => a.atMs - b.atMs);
    return own.map((change, index) => ({
      row,
      from: Math.max(change.atMs, timeline.fromMs) / 1000,
      to: Math.min((own[index + 1]?.atMs ?? Infinity) / 1000, last),
      colour: colours.get(change.state) ?? GRID_COLOUR,
    }));
  });
  return {
    type: "custom",
    xAxisIndex: 1,
    yAxisIndex: 1,
    silent: true,
    encode: { x: [1, 2], y: 0 },
    data: bars.map(({ row, from, to }) => [row, from, to]),
    renderItem: (parameters, api) => {
      const bar = bars[parameters.dataIndex];
      const [x1 = 0, y = 0] = api.coord([api.value(1), api.value(0)]);
      const [x2 = 0] = api.coord([api.value(2), api.value(0)]);
      return {
        type: "rect",
        shape: { x: x1, y: y - ROW / 2 + 2, width: Math.max(0, x2 - x1), height: ROW - 4 },
        style: { fill: bar?.colour ?? GRID_COLOUR },
      };
    },
  };
}
