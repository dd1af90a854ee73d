/** Charts for a study that inserts more and more keys: memory per key, and insertion rate. Pure. */
import { MIN_KEYS, insertionRates } from "../studies/evaluation/growth-analysis";
import type { StudyRecord } from "../results/study-schema";
import type { Chart } from "./chart-base";
import { axisLabel, chartBase, colourOf, TEXT_COLOUR, shortCount, splitLine } from "./chart-base";

interface Curve {
  readonly name: string;
  readonly points: readonly (readonly [keys: number, value: number])[];
}

/** Returns charts with one curve for each treatment of a study, from the first round of this treatment. */
export function growthCharts({ growth, treatments }: StudyRecord): Chart[] {
  const first = treatments.flatMap(({ id, label }) =>
    growth
      .filter(({ treatment }) => treatment === id)
      .slice(0, 1)
      .map(({ samples }) => ({ label, samples })),
  );
  if (first.length === 0) return [];
  const entries = first.map(({ label, samples }): Curve => ({
    name: label,
    points: samples.filter(({ keys }) => keys >= MIN_KEYS).map(({ keys, bytes }) => [keys, bytes / keys]),
  }));
  const rates = first.map(({ label, samples }): Curve => ({
    name: label,
    points: insertionRates({ samples }).map(({ keys, rate }) => [keys, rate]),
  }));
  return [
    chart(
      "growth-bytes",
      "Bytes per entry while the table grows",
      "Memory by number of keys, without the memory of the empty server and of clients' buffers. Each step up is a table " +
        "that doubles, so a fair comparison of engines covers a whole doubling.",
      entries,
    ),
    chart(
      "growth-rate",
      "New keys per second while the table grows",
      "In windows of a quarter of a second, by number of keys (first round of each treatment). The growing table causes " +
        "the dips that recur at the same number of keys in other rounds; the machine causes the other dips.",
      rates,
    ),
  ];
}

function chart(id: string, title: string, caption: string, curves: readonly Curve[]): Chart {
  const most = Math.max(...curves.flatMap(({ points }) => points.map(([keys]) => keys)));
  return {
    id,
    title,
    caption,
    legend: curves.map(({ name }, index) => ({ name, colour: colourOf(index) })),
    heights: { wide: 320, narrow: 280 },
    option: (width) => ({
      ...chartBase(width),
      xAxis: {
        type: "value",
        min: 0,
        max: most,
        name: "keys",
        nameLocation: "middle",
        nameGap: 30,
        nameTextStyle: { color: TEXT_COLOUR },
        axisLabel: { ...axisLabel(width), formatter: shortCount, hideOverlap: true },
        splitLine: { show: false },
      },
      yAxis: { type: "value", min: 0, axisLabel: { ...axisLabel(width), formatter: shortCount }, splitLine },
      series: curves.map(({ name, points }, index) => ({
        type: "line",
        name,
        symbol: "none",
        lineStyle: {
          width: 2,
          color: colourOf(index),
          type: (["solid", "dashed", "dotted"] as const)[index % 3] ?? "solid",
        },
        itemStyle: { color: colourOf(index) },
        data: points.map((point) => [...point]),
      })),
    }),
  };
}
