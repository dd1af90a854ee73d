/** Charts of a study: throughput with intervals, ratios, scaling, table growth, and reference load. Pure. */
import { REFERENCE_LOAD_MOVED } from "../results/formats/study-summary";
import type { ResultRow } from "../results/rows";
import { resultRows } from "../results/rows";
import type { Results } from "../results/schema";
import type { StudyRecord } from "../results/study-schema";
import type { Chart } from "./chart-base";
import { axisLabel, chartBase, colourOf, GRID_COLOUR, shortCount, splitLine } from "./chart-base";
import { forestCharts } from "./forest-charts";
import { growthCharts } from "./growth-charts";
import { heightOf, rowIntervals, rowsChart } from "./row-chart";
import { scalingCharts } from "./scaling-charts";

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
    ...forestCharts(study),
    ...scalingCharts(study, rows),
    ...growthCharts(study),
    referenceLoads(results, study),
  ];
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
      "The speed of the machine differs between rounds, so the comparisons below are paired by round.",
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

function referenceLoads({ referenceLoads: all }: Results, { referenceLoadMoved }: StudyRecord): Chart {
  return {
    id: "reference-loads",
    title: "The reference load",
    caption:
      "PINGs per second of a fixed load on a server with fixed settings, in the order of measurement. " +
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
