/**
 * Chart of latency over offered load. The chart also shows the objective, and the capacity and the knee of each
 * deployment. Pure.
 */
import type { EChartsOption, SeriesOption } from "echarts";
import { formatObjective } from "../capacity/objective";
import type { CapacityRecord } from "../results/schema";
import { formatCount } from "../../lib/units";
import type { Chart } from "./chart-base";
import { axisLabel, chartBase, colourOf, shortCount, splitLine } from "./chart-base";

export function capacityChart(capacities: readonly CapacityRecord[]): Chart {
  const [first] = capacities;
  const objective = first?.objective ?? { quantile: 0.99, ms: 1 };
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
    legend: capacities.map(({ deployment }, index) => ({ name: deployment, colour: colourOf(index) })),
    heights: { wide: 340, narrow: 300 },
    option: (width): EChartsOption => ({
      ...chartBase(width),
      xAxis: {
        type: "log",
        name: "offered per second",
        nameLocation: "middle",
        nameGap: 30,
        axisLabel: { ...axisLabel(width), formatter: shortCount, hideOverlap: true },
        splitLine: { show: false },
      },
      yAxis: { type: "log", axisLabel: axisLabel(width), splitLine },
      series: capacities.flatMap((capacity, index) => seriesOf(capacity, index, objective.ms)),
    }),
  };
}

function seriesOf(
  { deployment, points, capacity, knee }: CapacityRecord,
  index: number,
  limitMs: number,
): SeriesOption[] {
  const colour = colourOf(index);
  // A logarithmic axis cannot show zero.
  const shown = points.filter(({ ms }) => ms > 0);
  const at = (rate: number | null): number[][] =>
    shown.flatMap((point) => (point.rate === rate ? [[point.rate, point.ms]] : []));
  const markLine = {
    silent: true,
    symbol: "none",
    lineStyle: { type: "dashed" as const, color: "#6b7785", width: 1.5 },
    label: { show: false },
    data: [{ yAxis: limitMs }],
  };
  return [
    {
      type: "line",
      name: deployment,
      data: shown.map(({ rate, ms }) => [rate, ms]),
      symbol: "circle",
      symbolSize: 4,
      lineStyle: { width: 2, color: colour },
      itemStyle: { color: colour },
      ...(index === 0 ? { markLine } : {}),
    },
    {
      type: "scatter",
      name: `${deployment}: capacity`,
      data: at(capacity),
      symbolSize: 13,
      itemStyle: { color: colour },
    },
    {
      type: "scatter",
      name: `${deployment}: knee`,
      data: at(knee),
      symbol: "rect",
      symbolSize: 13,
      itemStyle: { color: "transparent", borderColor: colour, borderWidth: 2 },
    },
  ];
}
