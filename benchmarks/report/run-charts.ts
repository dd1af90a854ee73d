import { compact } from "../../lib/compact";
import { formatCount } from "../../lib/units";
import type { CumulativeCount } from "../../lib/histogram";
import { formatObjective } from "../capacity/objective";
import { type TestComparison, compareDeployments } from "../results/rows";
import type { CapacityRecord, Results } from "../results/schema";
import type { Chart } from "./chart";
import {
  bars,
  colourOf,
  COUNTS,
  dots,
  guide,
  intervals,
  legendOf,
  line,
  MUTED_COLOUR,
  shortCount,
  slug,
} from "./chart";

export function measurementCharts(results: Results): Chart[] {
  const { deployments, comparisons } = compareDeployments(results);
  const capacity = results.capacities.length === 0 ? [] : [capacityChart(results.capacities)];
  if (comparisons.length === 0) return capacity;
  return [
    ...capacity,
    throughput(results),
    ...comparisons.map((each) => latency(each, deployments)),
    ...keyShares(results),
  ];
}

function capacityChart(capacities: readonly CapacityRecord[]): Chart {
  const objective = capacities[0]?.objective ?? { quantile: 0.99, ms: 1 };
  const knees = capacities.flatMap(({ deployment, knee }) =>
    knee === null ? [] : [`${deployment}: ${formatCount(knee)}/s`],
  );
  return {
    id: "capacity",
    title: `Latency against load: p${Number((objective.quantile * 100).toFixed(6))}`,
    caption: [
      "Milliseconds from the intended time of each request, by offered requests per second; both axes are logarithmic.",
      `The dashed line is the objective, ${formatObjective(objective)}.`,
      "A filled point is the capacity: the highest rate confirmed to meet the objective.",
      `A hollow square is the knee: above it, latency rises faster than the rate (${knees.join(", ") || "none"}).`,
      "A point merges all repeats of a rate, so it can lie above the line although most repeats met the objective.",
    ].join(" "),
    legend: legendOf(capacities.map(({ deployment }) => deployment)),
    heights: { wide: 340, narrow: 300 },
    x: {
      type: "log",
      name: "offered per second",
      axisLabel: { formatter: shortCount },
      splitLine: { show: false },
    },
    y: { type: "log" },
    marks: () => [
      ...capacities.flatMap(({ points, capacity, knee }, index) => {
        // A logarithmic axis cannot show zero.
        const shown = points.filter(({ ms }) => ms > 0).map(({ rate, ms }) => [rate, ms] as const);
        const at = (wanted: number | null): typeof shown => shown.filter(([rate]) => rate === wanted);
        const colour = colourOf(index);
        return [
          line({ colour, size: 2, points: shown, symbol: "circle", symbolSize: 4 }),
          dots({ colour, size: 13, points: at(capacity) }),
          dots({
            colour: "transparent",
            size: 13,
            points: at(knee),
            symbol: "rect",
            itemStyle: { borderColor: colour, borderWidth: 2 },
          }),
        ];
      }),
      guide({ yAxis: objective.ms }, { type: "dashed", color: MUTED_COLOUR, width: 1.5 }),
    ],
  };
}

function throughput(results: Results): Chart {
  const { deployments, comparisons } = compareDeployments(results);
  const confidence = comparisons.flatMap(({ rows }) => rows).find((row) => row !== undefined)?.rps.confidence ?? 0;
  const series = deployments.length;
  return {
    id: "throughput",
    title: "Throughput",
    caption: `Requests per second by the load generator's clock, ${describeMedian(confidence)}.`,
    legend: legendOf(deployments),
    heights: { wide: 320, narrow: 280 },
    x: {
      type: "category",
      data: comparisons.map(({ title }) => title),
      axisLabel: { interval: 0, rotate: comparisons.length > 6 ? 40 : 0 },
    },
    y: COUNTS,
    marks: (width) =>
      deployments.flatMap((name, index) => {
        const rates = comparisons.map(({ rows }) => rows.find((row) => row?.deployment === name)?.rps);
        return [
          bars({
            colour: colourOf(index),
            size: MAX_BAR,
            points: rates.map((rate) => rate?.median ?? 0),
            label: {
              show: comparisons.length <= 4,
              position: "insideBottom",
              color: "#fff",
              fontSize: width === "wide" ? 12 : 10,
              formatter: ({ value }) => shortCount(Number(value)),
            },
          }),
          intervals({
            isVertical: true,
            cap: width === "wide" ? 6 : 4,
            lineWidth: comparisons.length > 8 ? 1 : 1.5,
            offset: (band) => {
              // In ECharts, bars take 80 % of the width of a category. The gaps between bars are 30 % of a bar.
              const bar = Math.min(MAX_BAR, (band * 0.8) / (series + 0.3 * (series - 1)));
              return (index - (series - 1) / 2) * bar * 1.3;
            },
            ends: rates.map((rate, category) => [category, rate?.low ?? 0, rate?.high ?? 0]),
          }),
        ];
      }),
  };
}

const MAX_BAR = 56;

function describeMedian(confidence: number): string {
  if (confidence === 0) return "measured once, so there is no interval";
  const percent = (confidence * 100).toFixed(0);
  return `median of the repeats; the line is the interval that contains the true median with ${percent} % confidence`;
}

/** Each decade of 1 − p has the same width on this axis. */
const PERCENTILE_TICKS = [0, 50, 90, 99, 99.9, 99.99] as const;
const stretch = (part: number): number => -Math.log10(1 - part);

function latency({ title, rows: all }: TestComparison, deployments: readonly string[]): Chart {
  const rows = compact(all);
  const customValues = PERCENTILE_TICKS.map((p) => stretch(p / 100));
  const open = rows.find(({ isOpenLoop }) => isOpenLoop);
  return {
    id: `latency-${slug(title)}`,
    title: `Latency of ${title}`,
    caption:
      "Latency in milliseconds by percentile of all repeats together" +
      (open === undefined
        ? ". A closed loop at full speed shows queueing at saturation, not the latency that clients see at an offered rate."
        : `, from the intended time of each request, at ${formatCount(open.offered ?? 0)} offered requests per second.`),
    legend: rows.map(({ deployment }) => ({ name: deployment, colour: colourOf(deployments.indexOf(deployment)) })),
    heights: { wide: 290, narrow: 260 },
    x: {
      type: "value",
      min: 0,
      max: stretch(0.9999),
      name: "percentile",
      axisLabel: { customValues, formatter: percentileLabel },
      axisTick: { customValues },
      splitLine: { show: false },
    },
    y: { type: "value" },
    marks: () =>
      rows.map(({ deployment, latencies }) =>
        line({ colour: colourOf(deployments.indexOf(deployment)), size: 2, points: curve(latencies), step: "start" }),
      ),
  };
}

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

function keyShares(results: Results): Chart[] {
  return results.topologies.flatMap((topology): Chart[] => {
    const primaries = topology.nodes.filter(({ role }) => role === "primary");
    if (primaries.length < 2) return [];
    const names = primaries.map(({ name }) => name);
    const total = primaries.reduce((sum, { keysAfter }) => sum + (keysAfter ?? 0), 0);
    const records = results.records.filter(({ deployment }) => deployment === topology.deployment);
    const callShare = (title: string, node: string): number => {
      const shares = records.flatMap((record) =>
        record.title === title ? (record.servers?.shares ?? []).filter((share) => share.node === node) : [],
      );
      return shares.length === 0 ? 0 : shares.reduce((sum, { share }) => sum + share, 0) / shares.length;
    };
    const titles = [...new Set(records.map(({ title }) => title))].slice(0, 5);
    const series = [
      {
        name: "keys",
        colour: MUTED_COLOUR,
        shares: primaries.map(({ keysAfter }) => (total === 0 ? 0 : (keysAfter ?? 0) / total)),
      },
      ...titles.map((name, index) => ({
        name,
        colour: colourOf(index),
        shares: names.map((node) => callShare(name, node)),
      })),
    ];
    return [
      {
        id: `shares-${topology.deployment}`,
        title: `Keys and calls by primary of ${topology.deployment}`,
        caption:
          `Percentage of all keys after the run (${formatCount(total)} keys), and percentage of the calls of each test, ` +
          `by primary. With even shares, each is ${(100 / primaries.length).toFixed(1)} %.`,
        legend: series,
        heights: { wide: 280, narrow: 260 },
        x: { type: "category", data: names, axisLabel: { interval: 0, rotate: names.length > 6 ? 60 : 0 } },
        y: { type: "value" },
        marks: () =>
          series.map(({ shares, colour }) =>
            bars({ colour, size: 40, points: shares.map((share) => Number((share * 100).toFixed(2))) }),
          ),
      },
    ];
  });
}
