/**
 * Charts of a run that compares deployments: throughput, latency, and shares of primaries.
 * `figure.ts` draws them as SVG. Pure.
 */
import type { SeriesOption } from "echarts";
import type { CumulativeCount } from "../../lib/histogram";
import type { ResultRow } from "../results/rows";
import { compareDeployments } from "../results/rows";
import type { Results } from "../results/schema";
import { capacityChart } from "./capacity-chart";
import { formatCount } from "../../lib/units";
import type { Width, Chart } from "./chart-base";
import {
  TEXT_COLOUR,
  GRID_COLOUR,
  colourOf,
  lineOfWidth,
  chartBase,
  axisLabel,
  splitLine,
  shortCount,
} from "./chart-base";

const KEYS = "#6b7785";

function deploymentLegend(shown: readonly string[], all: readonly string[]): Chart["legend"] {
  return shown.map((name) => ({ name, colour: colourOf(all.indexOf(name)) }));
}

export function measurementCharts(results: Results): Chart[] {
  const { deployments, comparisons } = compareDeployments(results);
  const capacity = results.capacities.length === 0 ? [] : [capacityChart(results.capacities)];
  if (comparisons.length === 0) return capacity;
  return [
    ...capacity,
    throughput(deployments, results),
    ...comparisons.map(({ title, rows }) =>
      latency(
        title,
        rows.flatMap((row) => row ?? []),
        deployments,
      ),
    ),
    ...keyShares(results),
  ];
}

/** Chart of the throughput. Each bar is a median, with its confidence interval. */
function throughput(deployments: readonly string[], results: Results): Chart {
  const { comparisons } = compareDeployments(results);
  const confidence = comparisons.flatMap(({ rows }) => rows).find((row) => row !== undefined)?.rps.confidence ?? 0;
  return {
    id: "throughput",
    title: "Throughput",
    caption: `Requests per second by the load generator's clock, ${describeMedian(confidence)}.`,
    legend: deploymentLegend(deployments, deployments),
    heights: { wide: 320, narrow: 280 },
    option: (width) => ({
      ...chartBase(width),
      xAxis: {
        type: "category",
        data: comparisons.map(({ title }) => title),
        axisLabel: { ...axisLabel(width), interval: 0, rotate: comparisons.length > 6 ? 40 : 0 },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: GRID_COLOUR } },
      },
      yAxis: { type: "value", axisLabel: { ...axisLabel(width), formatter: shortCount }, splitLine },
      series: deployments.flatMap((name, index): SeriesOption[] => {
        const rows = comparisons.map(({ rows: found }) => found.find((row) => row?.deployment === name));
        return [
          {
            type: "bar",
            name,
            barMaxWidth: 56,
            itemStyle: { color: colourOf(index) },
            data: rows.map((row) => row?.rps.median ?? 0),
            label: {
              show: comparisons.length <= 4,
              position: "insideBottom",
              color: "#fff",
              fontSize: width === "wide" ? 12 : 10,
              formatter: ({ value }) => shortCount(Number(value)),
            },
          },
          intervals(rows, index, deployments.length, comparisons.length, width),
        ];
      }),
    }),
  };
}

/** Explains the meaning of a bar and its line. @param confidence confidence of the interval; 0 without an interval */
function describeMedian(confidence: number): string {
  if (confidence === 0) return "measured once, so there is no interval";
  const percent = (confidence * 100).toFixed(0);
  return `median of the repeats; the line is the interval that contains the true median with ${percent} % confidence`;
}

/**
 * Error bars: a vertical line with two caps over the bar of the same series. This file draws the error bars itself,
 * because ECharts has no error bars.
 */
function intervals(
  rows: readonly (ResultRow | undefined)[],
  index: number,
  series: number,
  categories: number,
  width: Width,
): SeriesOption {
  return {
    type: "custom",
    // With `y: [1, 2]`, the axis includes both ends of the intervals.
    encode: { x: 0, y: [1, 2] },
    silent: true,
    z: 10,
    legendHoverLink: false,
    data: rows.map((row, category) => [category, row?.rps.low ?? 0, row?.rps.high ?? 0]),
    renderItem: (_parameters, api) => {
      const category = Number(api.value(0));
      const size = api.size?.([1, 0]);
      const band = Array.isArray(size) ? (size[0] ?? 0) : 0;
      // In ECharts, bars take 80 % of the width of a category. The gaps between bars are 30 % of a bar, and the width
      // of a bar is limited.
      const bar = Math.min(56, (band * 0.8) / (series + 0.3 * (series - 1)));
      const offset = (index - (series - 1) / 2) * bar * 1.3;
      const at = (value: number): [number, number] => {
        const [x = 0, y = 0] = api.coord([category, value]);
        return [x + offset, y];
      };
      const [x, low] = at(Number(api.value(1)));
      const [, high] = at(Number(api.value(2)));
      const cap = width === "wide" ? 6 : 4;
      const line = lineOfWidth(categories > 8 ? 1 : 1.5);
      return {
        type: "group",
        children: [line(x, low, x, high), line(x - cap, low, x + cap, low), line(x - cap, high, x + cap, high)],
      };
    },
  };
}

/** Ticks of the percentile axis. Each decade of 1 − p has the same width on this axis. */
const PERCENTILE_TICKS = [0, 50, 90, 99, 99.9, 99.99] as const;
const stretch = (part: number): number => -Math.log10(1 - part);

function latency(title: string, rows: readonly ResultRow[], deployments: readonly string[]): Chart {
  return {
    id: `latency-${title.toLowerCase().replaceAll(/\W+/g, "-")}`,
    title: `Latency of ${title}`,
    caption: captionOf(rows),
    legend: deploymentLegend(
      rows.map((row) => row.deployment),
      deployments,
    ),
    heights: { wide: 290, narrow: 260 },
    option: (width) => ({
      ...chartBase(width),
      xAxis: {
        type: "value",
        min: 0,
        max: stretch(0.9999),
        name: "percentile",
        nameLocation: "middle",
        nameGap: 30,
        nameTextStyle: { color: TEXT_COLOUR },
        axisLabel: {
          ...axisLabel(width),
          customValues: PERCENTILE_TICKS.map((p) => stretch(p / 100)),
          formatter: (value: number) => percentileLabel(value),
        },
        axisTick: { customValues: PERCENTILE_TICKS.map((p) => stretch(p / 100)) },
        splitLine: { show: false },
      },
      yAxis: { type: "value", axisLabel: axisLabel(width), splitLine },
      series: rows.map((row): SeriesOption => {
        const colour = colourOf(deployments.indexOf(row.deployment));
        return {
          type: "line",
          name: row.deployment,
          step: "start",
          symbol: "none",
          lineStyle: { width: 2, color: colour },
          itemStyle: { color: colour },
          data: curve(row.latencies),
        };
      }),
    }),
  };
}

function captionOf(rows: readonly ResultRow[]): string {
  const open = rows.find(({ isOpenLoop }) => isOpenLoop);
  if (open === undefined)
    return (
      "Latency in milliseconds by percentile of all repeats together. A closed loop at full speed shows queueing " +
      "at saturation, not the latency that clients see at an offered rate."
    );
  return (
    "Latency in milliseconds by percentile of all repeats together, from the intended time of each request, " +
    `at ${formatCount(open.offered ?? 0)} offered requests per second.`
  );
}

/** Points of a cumulative distribution, up to the 99.99th percentile. */
function curve(counts: readonly CumulativeCount[]): [number, number][] {
  const total = counts.at(-1)?.count ?? 0;
  if (total === 0) return [];
  const points = counts.map(({ ms, count }): [number, number] => [stretch(Math.min(count / total, 0.9999)), ms]);
  const end = points.findIndex(([x]) => x >= stretch(0.9999));
  return end < 0 ? points : points.slice(0, end + 1);
}

function percentileLabel(value: number): string {
  const nearest = PERCENTILE_TICKS.find((p) => Math.abs(stretch(p / 100) - value) < 1e-6);
  return nearest === undefined ? "" : String(nearest);
}

/** Each primary's share of the keys and of the calls in a cluster. */
function keyShares(results: Results): Chart[] {
  return results.topologies.flatMap((topology): Chart[] => {
    const primaries = topology.nodes.filter(({ role }) => role === "primary");
    if (primaries.length < 2) return [];
    const keys = primaries.map(({ keysAfter }) => keysAfter ?? 0);
    const total = keys.reduce((sum, count) => sum + count, 0);
    const records = results.records.filter(({ deployment }) => deployment === topology.deployment);
    const titles = [...new Set(records.map(({ title }) => title))];
    const shareOf = (title: string, node: string): number => {
      const shares = records.flatMap((record) =>
        record.title === title ? (record.servers?.shares ?? []).filter((share) => share.node === node) : [],
      );
      return shares.length === 0 ? 0 : shares.reduce((sum, { share }) => sum + share, 0) / shares.length;
    };
    const names = primaries.map(({ name }) => name);
    const bars = (name: string, values: readonly number[], colour: string): SeriesOption => ({
      type: "bar",
      name,
      barMaxWidth: 40,
      itemStyle: { color: colour },
      data: values.map((value) => Number((value * 100).toFixed(2))),
    });
    return [
      {
        id: `shares-${topology.deployment}`,
        title: `Keys and calls by primary of ${topology.deployment}`,
        caption:
          `Percentage of all keys after the run (${formatCount(total)} keys), and percentage of the calls of each test, ` +
          `by primary. With even shares, each is ${(100 / primaries.length).toFixed(1)} %.`,
        legend: [
          { name: "keys", colour: KEYS },
          ...titles.slice(0, 5).map((title, index) => ({ name: title, colour: colourOf(index) })),
        ],
        heights: { wide: 280, narrow: 260 },
        option: (width) => ({
          ...chartBase(width),
          xAxis: {
            type: "category",
            data: names,
            axisLabel: { ...axisLabel(width), interval: 0, rotate: names.length > 6 ? 60 : 0 },
            axisTick: { show: false },
            axisLine: { lineStyle: { color: GRID_COLOUR } },
          },
          yAxis: { type: "value", axisLabel: axisLabel(width), splitLine },
          series: [
            bars(
              "keys",
              keys.map((count) => (total === 0 ? 0 : count / total)),
              KEYS,
            ),
            ...titles.slice(0, 5).map((title, index) =>
              bars(
                title,
                names.map((node) => shareOf(title, node)),
                colourOf(index),
              ),
            ),
          ],
        }),
      },
    ];
  });
}
