/** Charts of a metric over the number of shards, with the power law that a study fits. Pure. */
import type { EChartsOption } from "echarts";
import type { ResultRow } from "../results/rows";
import { microsecondsPerOperation } from "../results/rows";
import type { StudyFit, StudyRecord } from "../results/study-schema";
import type { Chart, Width } from "./chart-base";
import { axisLabel, chartBase, colourOf, shortCount, splitLine, TEXT_COLOUR } from "./chart-base";

type Point = [shards: number, value: number];

/** Points of a scaling chart, one for each treatment, and the fitted line. */
interface Scaling {
  /** Points of the treatments that the fit includes. */
  readonly taken: readonly Point[];
  readonly excluded: readonly Point[];
  /** Both ends of the fitted line. The list is empty if no line could be fitted. */
  readonly line: readonly Point[];
}

/** One chart for each fit that has at least two points. */
export function scalingCharts(study: StudyRecord, rows: readonly ResultRow[]): Chart[] {
  return study.fits.flatMap((fit, index): Chart[] => {
    const scaling = scalingOf(fit, rows, study);
    if (scaling.taken.length + scaling.excluded.length < 2) return [];
    return [
      {
        id: `scaling-${index}`,
        title: `${fit.title}: ${fit.what}`,
        caption: `Both scales are logarithmic, so a power law is a straight line. ${describeExponent(fit)}`,
        legend: [
          { name: "in the fit", colour: colourOf(0) },
          { name: "excluded (hollow)", colour: colourOf(1) },
        ],
        heights: { wide: 320, narrow: 280 },
        option: (width) => scalingOption(width, scaling),
      },
    ];
  });
}

function describeExponent({ exponent }: StudyFit): string {
  if (exponent === null)
    return "There is no exponent, because the servers were the limit in too few treatments (see the findings).";
  return (
    `Exponent ${exponent.estimate.toFixed(2)} (${exponent.low.toFixed(2)} … ${exponent.high.toFixed(2)}): ` +
    "1 is perfect scaling, and 0 means no scaling. The fit excludes treatments with a hollow mark (see the findings)."
  );
}

function scalingOf(fit: StudyFit, rows: readonly ResultRow[], { treatments }: StudyRecord): Scaling {
  const value = (row: ResultRow): number =>
    fit.metric === "cpu-per-operation" ? (microsecondsPerOperation(row) ?? 0) : row.rps.median;
  const point = (id: string): Point[] => {
    const row = rows.find(({ deployment, title }) => deployment === id && title === fit.title);
    const shards = Number(treatments.find((treatment) => treatment.id === id)?.levels["primaries"] ?? NaN);
    return row === undefined || Number.isNaN(shards) || value(row) <= 0 ? [] : [[shards, value(row)]];
  };
  const taken = fit.treatments.flatMap(point);
  const excluded = fit.excluded.flatMap(({ treatment }) => point(treatment));
  const { exponent, factor } = fit;
  if (exponent === null || factor === null) return { taken, excluded, line: [] };
  const shards = [...taken, ...excluded].map(([x]) => x);
  const ends = [Math.min(...shards), Math.max(...shards)];
  return { taken, excluded, line: ends.map((x) => [x, factor * x ** exponent.estimate]) };
}

function scalingOption(width: Width, { taken, excluded, line }: Scaling): EChartsOption {
  const points = [...taken, ...excluded, ...line];
  return {
    ...chartBase(width),
    grid: { left: width === "wide" ? 64 : 52, right: 24, top: 16, bottom: 48 },
    xAxis: {
      type: "log",
      logBase: 2,
      ...powersOfTwo(points.map(([x]) => x)),
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
      ...powersOfTwo(points.map(([, y]) => y)),
      axisLabel: { ...axisLabel(width), formatter: shortCount },
      splitLine,
    },
    series: [
      {
        type: "line",
        symbol: "none",
        lineStyle: { color: TEXT_COLOUR, width: 1.5, type: "dashed" },
        data: [...line],
      },
      { type: "scatter", symbolSize: 10, itemStyle: { color: colourOf(0) }, data: [...taken] },
      {
        type: "scatter",
        symbol: "emptyCircle",
        symbolSize: 10,
        itemStyle: { color: colourOf(1), borderWidth: 2 },
        data: [...excluded],
      },
    ],
  };
}

/** Ends of a logarithmic axis. The ends are powers of two around the values. */
function powersOfTwo(values: readonly number[]): { readonly min: number; readonly max: number } {
  return {
    min: 2 ** Math.floor(Math.log2(Math.min(...values))),
    max: 2 ** Math.ceil(Math.log2(Math.max(...values)) + 0.01),
  };
}
