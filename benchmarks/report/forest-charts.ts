/** Charts of the ratios between a study's treatments, with confidence intervals. Each comparison has one row. Pure. */
import type { EChartsOption, SeriesOption } from "echarts";
import { VERDICT_LABELS } from "../results/formats/study-summary";
import type { StudyComparison, StudyRecord } from "../results/study-schema";
import type { Chart, Width } from "./chart-base";
import { axisLabel, colourOf, splitLine, TEXT_COLOUR } from "./chart-base";
import { heightOf, rowIntervals, rowsChart } from "./row-chart";

/** Color and shape for each verdict. */
const MARKS: Readonly<
  Record<StudyComparison["verdict"], { readonly symbol: string; readonly rotate: number; readonly colour: string }>
> = {
  greater: { symbol: "triangle", rotate: -90, colour: colourOf(0) },
  less: { symbol: "triangle", rotate: 90, colour: colourOf(1) },
  "no-difference": { symbol: "circle", rotate: 0, colour: colourOf(2) },
  "not-enough-data": { symbol: "emptyCircle", rotate: 0, colour: "#6b7785" },
};

const METRIC_TITLES = {
  throughput: "Throughput, compared",
  "cpu-per-operation": "Servers' CPU per operation, compared",
} as const;

/** A comparison whose ratio is known. */
interface KnownRatio {
  readonly label: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: StudyComparison["verdict"];
}

/** One chart for each metric that has ratios. */
export function forestCharts(study: StudyRecord): Chart[] {
  return (["throughput", "cpu-per-operation"] as const).flatMap((metric): Chart[] => {
    const ratios = knownRatios(study, metric);
    if (ratios.length === 0) return [];
    const verdicts = [...new Set(ratios.map(({ verdict }) => verdict))];
    return [
      {
        id: `compared-${metric}`,
        title: METRIC_TITLES[metric],
        caption:
          "Ratio of the first treatment over the second, paired by round, with its 95 % interval, on a logarithmic " +
          "scale. An interval that contains 1 shows no difference. If the interval is narrow, it excludes a difference " +
          "that matters; if it is wide, there are too few data.",
        legend: verdicts.map((verdict) => ({ name: VERDICT_LABELS[verdict], colour: MARKS[verdict].colour })),
        heights: heightOf(ratios.length, 34),
        option: (width) => forestOption(width, ratios, verdicts),
      },
    ];
  });
}

function knownRatios({ comparisons, treatments }: StudyRecord, metric: keyof typeof METRIC_TITLES): KnownRatio[] {
  const nameOf = (id: string): string => treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const hasSeveralTests = new Set(comparisons.map(({ title }) => title)).size > 1;
  return comparisons.flatMap((comparison): KnownRatio[] => {
    const { title, base, other, ratio, low, high, verdict } = comparison;
    if (comparison.metric !== metric || ratio === null) return [];
    const label = `${hasSeveralTests ? `${title}: ` : ""}${nameOf(other)} / ${nameOf(base)}`;
    return [{ label, ratio, low: low ?? ratio, high: high ?? ratio, verdict }];
  });
}

function forestOption(
  width: Width,
  ratios: readonly KnownRatio[],
  verdicts: readonly KnownRatio["verdict"][],
): EChartsOption {
  const ends = ratios.flatMap(({ low, high }) => [low, high]);
  const points = verdicts.map((verdict): SeriesOption => ({
    type: "scatter",
    z: 20,
    symbol: MARKS[verdict].symbol,
    symbolRotate: MARKS[verdict].rotate,
    symbolSize: 11,
    itemStyle: { color: MARKS[verdict].colour },
    data: ratios.flatMap((each, row): [number, number][] => (each.verdict === verdict ? [[each.ratio, row]] : [])),
  }));
  return {
    ...rowsChart(
      width,
      ratios.map(({ label }) => label),
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
    series: [rowIntervals(ratios.map(({ low, high }, row) => [low, high, row])), NO_DIFFERENCE, ...points],
  };
}

/** A line at a ratio of 1. */
const NO_DIFFERENCE: SeriesOption = {
  type: "scatter",
  data: [],
  markLine: {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: TEXT_COLOUR, type: "dashed" },
    data: [{ xAxis: 1 }],
  },
};
