/** Charts of a study: throughput with intervals, ratios, scaling, table growth, reference load. Pure. */
import type { CustomSeriesOption, EChartsOption, SeriesOption } from "echarts";
import { microsecondsPerOperation, resultRows } from "../results/rows";
import type { ResultRow } from "../results/rows";
import type { Results } from "../results/schema";
import { REFERENCE_LOAD_MOVED, VERDICT_LABELS } from "../results/formats/study-summary";
import type { StudyComparison, StudyFit, StudyRecord } from "../results/study-schema";
import type { Chart, Width } from "./chart-base";
import { axisLabel, chartBase, colourOf, TEXT_COLOUR, GRID_COLOUR, shortCount, splitLine } from "./chart-base";
import { growthCharts } from "./growth-charts";

export function studyCharts(results: Results): Chart[] {
  const { study } = results;
  if (study === undefined) return [];
  const rows = resultRows(results);
  const titles = [...new Set(rows.map(({ title }) => title))];
  return [
    ...titles.map((title) =>
      throughput(
        title,
        rows.filter((row) => row.title === title),
        study,
      ),
    ),
    ...forests(study),
    ...study.fits.flatMap((fit, index) =>
      scaling(
        fit,
        rows.filter(({ title }) => title === fit.title),
        study,
        index,
      ),
    ),
    ...growthCharts(study),
    referenceLoads(results, study),
  ];
}

/** Width of the column with names of treatments, pixels. */
const NAMES: Readonly<Record<Width, number>> = { wide: 260, narrow: 132 };
/** Reserve for fonts of browsers that are wider than the font of the layout, pixels. */
const FONT_SLACK = 44;

/** A chart of horizontal rows, which leave room for long names. */
function rowsChart(width: Width, names: readonly string[]): EChartsOption {
  const labels = {
    ...axisLabel(width),
    width: NAMES[width] - FONT_SLACK,
    overflow: "break" as const,
    lineHeight: width === "wide" ? 15 : 13,
  };
  return {
    ...chartBase(width),
    grid: { left: NAMES[width], right: 28, top: 8, bottom: 34 },
    yAxis: {
      type: "category",
      inverse: true,
      data: [...names],
      axisLabel: labels,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: GRID_COLOUR } },
    },
  };
}

/** Height in which names of two lines fit. */
const heightOf = (count: number, each: number): Chart["heights"] => ({
  wide: 60 + count * each,
  narrow: 64 + count * (each + 12),
});

/** Intervals: a line from low to high with caps, in the middle of each row. */
function rowIntervals(data: readonly (readonly [low: number, high: number, row: number])[]): CustomSeriesOption {
  return {
    type: "custom",
    encode: { x: [0, 1], y: 2 },
    silent: true,
    z: 10,
    data: data.map((each) => [...each]),
    renderItem: (_parameters, api) => {
      const at = (value: number): readonly [number, number] => {
        const [x = 0, y = 0] = api.coord([value, Number(api.value(2))]);
        return [x, y];
      };
      const [low, y] = at(Number(api.value(0)));
      const [high] = at(Number(api.value(1)));
      const line = (
        x1: number,
        y1: number,
        x2: number,
        y2: number,
      ): { type: "line"; shape: Record<string, number>; style: Record<string, unknown> } => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style: { stroke: TEXT_COLOUR, lineWidth: 1.5 },
      });
      return {
        type: "group",
        children: [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)],
      };
    },
  };
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/\W+/g, "-");
}

function throughput(title: string, rows: readonly ResultRow[], { treatments }: StudyRecord): Chart {
  const shown = treatments.flatMap(({ id, label }) => {
    const row = rows.find(({ deployment }) => deployment === id);
    return row === undefined ? [] : [{ label, row }];
  });
  const confidence = Math.min(1, ...shown.map(({ row }) => row.rps.confidence));
  const percent = (confidence * 100).toFixed(0);
  const interval =
    confidence > 0 ? `; the line is the interval that contains the true median with ${percent} % confidence` : "";
  return {
    id: `treatments-${slug(title)}`,
    title: `${title} by treatment`,
    caption:
      `Requests per second by the load generator's clock: median over the rounds${interval}. ` +
      "The machine differs between rounds, so the comparisons below are paired by round.",
    legend: [],
    heights: heightOf(shown.length, 30),
    option: (width) => ({
      ...rowsChart(
        width,
        shown.map(({ label }) => label),
      ),
      xAxis: { type: "value", axisLabel: { ...axisLabel(width), formatter: shortCount, hideOverlap: true }, splitLine },
      series: [
        {
          type: "bar",
          barMaxWidth: 18,
          itemStyle: { color: colourOf(0) },
          data: shown.map(({ row }) => row.rps.median),
        },
        rowIntervals(shown.map(({ row }, index) => [row.rps.low, row.rps.high, index])),
      ],
    }),
  };
}

/** Colour and shape both show the verdict. */
const MARKS: Readonly<
  Record<StudyComparison["verdict"], { readonly symbol: string; readonly rotate: number; readonly colour: string }>
> = {
  greater: { symbol: "triangle", rotate: -90, colour: colourOf(0) },
  less: { symbol: "triangle", rotate: 90, colour: colourOf(1) },
  "no-difference": { symbol: "circle", rotate: 0, colour: colourOf(2) },
  "not-enough-data": { symbol: "emptyCircle", rotate: 0, colour: "#6b7785" },
};

const METRIC_TITLES: Readonly<Record<StudyComparison["metric"], string>> = {
  throughput: "Throughput, compared",
  p99: "p99 latency, compared",
  "cpu-per-operation": "Servers' CPU per operation, compared",
};

function forests(study: StudyRecord): Chart[] {
  const name = (id: string): string => study.treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const several = new Set(study.comparisons.map(({ title }) => title)).size > 1;
  return (["throughput", "cpu-per-operation"] as const).flatMap((metric): Chart[] => {
    const known = study.comparisons.flatMap((comparison) => {
      const { ratio, low, high, verdict } = comparison;
      return comparison.metric !== metric || ratio === null
        ? []
        : [
            {
              label: `${several ? `${comparison.title}: ` : ""}${name(comparison.other)} / ${name(comparison.base)}`,
              ratio,
              low: low ?? ratio,
              high: high ?? ratio,
              verdict,
            },
          ];
    });
    if (known.length === 0) return [];
    const verdicts = [...new Set(known.map(({ verdict }) => verdict))];
    const ends = known.flatMap(({ low, high }) => [low, high]);
    return [
      {
        id: `compared-${metric}`,
        title: METRIC_TITLES[metric],
        caption:
          "Ratio of the first treatment over the second, paired by round, with its 95 % interval, on a logarithmic " +
          "scale. An interval that contains 1 shows no difference: a narrow one excludes a difference that matters, " +
          "a wide one means that there are too few data.",
        legend: verdicts.map((verdict) => ({ name: VERDICT_LABELS[verdict], colour: MARKS[verdict].colour })),
        heights: heightOf(known.length, 34),
        option: (width) => ({
          ...rowsChart(
            width,
            known.map(({ label }) => label),
          ),
          xAxis: {
            type: "log",
            logBase: 2,
            min: Math.min(0.5, ...ends.map((end) => 2 ** Math.floor(Math.log2(end)))),
            max: Math.max(2, ...ends.map((end) => 2 ** Math.ceil(Math.log2(end)))),
            axisLabel: {
              ...axisLabel(width),
              formatter: (value: number) => `${Number(value.toPrecision(2))}×`,
              hideOverlap: true,
            },
            splitLine,
          },
          series: [
            rowIntervals(known.map(({ low, high }, index) => [low, high, index])),
            ...verdicts.map((verdict, place): SeriesOption => ({
              type: "scatter",
              z: 20,
              symbol: MARKS[verdict].symbol,
              symbolRotate: MARKS[verdict].rotate,
              symbolSize: 11,
              itemStyle: { color: MARKS[verdict].colour },
              data: known.flatMap((each, index): [number, number][] =>
                each.verdict === verdict ? [[each.ratio, index]] : [],
              ),
              ...(place === 0
                ? {
                    markLine: {
                      silent: true,
                      symbol: "none",
                      label: { show: false },
                      lineStyle: { color: TEXT_COLOUR, type: "dashed" },
                      data: [{ xAxis: 1 }],
                    },
                  }
                : {}),
            })),
          ],
        }),
      },
    ];
  });
}

function scaling(fit: StudyFit, rows: readonly ResultRow[], { treatments }: StudyRecord, index: number): Chart[] {
  const isCost = fit.what.includes("CPU");
  const value = (row: ResultRow): number => (isCost ? (microsecondsPerOperation(row) ?? 0) : row.rps.median);
  const point = (id: string): [number, number][] => {
    const row = rows.find(({ deployment }) => deployment === id);
    const shards = Number(treatments.find((treatment) => treatment.id === id)?.levels["primaries"] ?? NaN);
    return row === undefined || Number.isNaN(shards) || value(row) <= 0 ? [] : [[shards, value(row)]];
  };
  const taken = fit.treatments.flatMap(point);
  const left = fit.excluded.flatMap(({ treatment }) => point(treatment));
  const all = [...taken, ...left];
  if (all.length < 2) return [];
  const xs = all.map(([x]) => x);
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const { exponent, factor } = fit;
  const line: [number, number][] =
    exponent === null || factor === null ? [] : [from, to].map((x) => [x, factor * x ** exponent.estimate]);
  const ys = [...all, ...line].map(([, y]) => y);
  return [
    {
      id: `scaling-${index}`,
      title: `${fit.title}: ${fit.what}`,
      caption:
        "Both scales are logarithmic, so a power law is a straight line. " +
        (exponent === null
          ? "There is no exponent, because the servers were the limit of too few treatments (see the findings)."
          : `Exponent ${exponent.estimate.toFixed(2)} (${exponent.low.toFixed(2)} … ${exponent.high.toFixed(2)}): ` +
            "1 is perfect scaling, 0 no scaling. Hollow treatments are excluded from the fit (see the findings)."),
      legend: [
        { name: "in the fit", colour: colourOf(0) },
        { name: "excluded (hollow)", colour: colourOf(1) },
      ],
      heights: { wide: 320, narrow: 280 },
      option: (width) => ({
        ...chartBase(width),
        grid: { left: width === "wide" ? 64 : 52, right: 24, top: 16, bottom: 48 },
        xAxis: {
          type: "log",
          logBase: 2,
          min: 2 ** Math.floor(Math.log2(from)),
          max: 2 ** Math.ceil(Math.log2(to) + 0.01),
          name: "shards",
          nameLocation: "middle",
          nameGap: 30,
          nameTextStyle: { color: TEXT_COLOUR },
          axisLabel: axisLabel(width),
          splitLine,
        },
        yAxis: {
          type: "log",
          logBase: 2,
          min: 2 ** Math.floor(Math.log2(Math.min(...ys))),
          max: 2 ** Math.ceil(Math.log2(Math.max(...ys)) + 0.01),
          axisLabel: { ...axisLabel(width), formatter: shortCount },
          splitLine,
        },
        series: [
          { type: "line", symbol: "none", lineStyle: { color: TEXT_COLOUR, width: 1.5, type: "dashed" }, data: line },
          { type: "scatter", symbolSize: 10, itemStyle: { color: colourOf(0) }, data: taken },
          {
            type: "scatter",
            symbol: "emptyCircle",
            symbolSize: 10,
            itemStyle: { color: colourOf(1), borderWidth: 2 },
            data: left,
          },
        ],
      }),
    },
  ];
}

function referenceLoads({ referenceLoads: all }: Results, { referenceLoadMoved }: StudyRecord): Chart {
  return {
    id: "reference-loads",
    title: "The reference load",
    caption:
      "PINGs per second of a fixed load on a server with fixed settings, in the order of measuring. " +
      (referenceLoadMoved
        ? REFERENCE_LOAD_MOVED
        : "Every rate is within a tenth of the median, so the machine did not change during the study."),
    legend: [],
    heights: { wide: 220, narrow: 200 },
    option: (width) => ({
      ...chartBase(width),
      xAxis: {
        type: "category",
        data: all.map((_referenceLoad, index) => String(index + 1)),
        axisLabel: axisLabel(width),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: GRID_COLOUR } },
      },
      yAxis: { type: "value", axisLabel: { ...axisLabel(width), formatter: shortCount }, splitLine },
      series: [
        {
          type: "line",
          symbolSize: 7,
          lineStyle: { color: colourOf(3), width: 2 },
          itemStyle: { color: colourOf(3) },
          data: all.map(({ rps }) => rps),
        },
      ],
    }),
  };
}
