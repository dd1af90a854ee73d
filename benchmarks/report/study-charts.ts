import { insertionRates, MIN_KEYS } from "../studies/evaluation/growth-analysis";
import { REFERENCE_LOAD_MOVED, VERDICT_LABELS } from "../results/formats/study-summary";
import { type ResultRow, microsecondsPerOperation, resultRows } from "../results/rows";
import type { Results } from "../results/schema";
import type { StudyComparison, StudyFit, StudyRecord } from "../results/study-schema";
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
  rowsOf,
  shortCount,
  slug,
  TEXT_COLOUR,
} from "./chart";

export function studyCharts(results: Results): Chart[] {
  const { study } = results;
  if (study === undefined) return [];
  const rows = resultRows(results);
  const titles = [...new Set(rows.map(({ title }) => title))];
  return [
    ...titles.map((title) => throughput(study, title, rows)),
    ...ratioCharts(study),
    ...scalingCharts(study, rows),
    ...growthCharts(study),
    referenceLoads(results, study),
  ];
}

const ROW_INTERVALS = { isVertical: false, cap: 4, lineWidth: 1.5 } as const;

function throughput({ treatments }: StudyRecord, title: string, rows: readonly ResultRow[]): Chart {
  const shown = treatments.flatMap(({ id, label }) => {
    const row = rows.find((each) => each.deployment === id && each.title === title);
    return row === undefined ? [] : [{ label, rps: row.rps }];
  });
  const labels = shown.map(({ label }) => label);
  const confidence = Math.min(1, ...shown.map(({ rps }) => rps.confidence));
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
    ...rowsOf(30, labels),
    x: COUNTS,
    marks: () => [
      bars({ colour: colourOf(0), size: 18, points: shown.map(({ rps }) => rps.median) }),
      intervals({ ...ROW_INTERVALS, ends: shown.map(({ rps }, row) => [row, rps.low, rps.high]) }),
    ],
  };
}

const VERDICT_MARKS: Readonly<
  Record<StudyComparison["verdict"], { readonly symbol: string; readonly rotate: number; readonly colour: string }>
> = {
  greater: { symbol: "triangle", rotate: -90, colour: colourOf(0) },
  less: { symbol: "triangle", rotate: 90, colour: colourOf(1) },
  "no-difference": { symbol: "circle", rotate: 0, colour: colourOf(2) },
  "not-enough-data": { symbol: "emptyCircle", rotate: 0, colour: MUTED_COLOUR },
};

const RATIO_TITLES = [
  ["throughput", "Throughput, compared"],
  ["cpu-per-operation", "Servers' CPU per operation, compared"],
] as const;

function ratioCharts({ comparisons, treatments }: StudyRecord): Chart[] {
  const nameOf = (id: string): string => treatments.find((treatment) => treatment.id === id)?.label ?? id;
  const hasSeveralTests = new Set(comparisons.map(({ title }) => title)).size > 1;
  return RATIO_TITLES.flatMap(([wanted, chartTitle]): Chart[] => {
    const ratios = comparisons.flatMap(({ metric, title, base, other, ratio, low, high, verdict }) => {
      if (metric !== wanted || ratio === null) return [];
      const label = `${hasSeveralTests ? `${title}: ` : ""}${nameOf(other)} / ${nameOf(base)}`;
      return [{ label, ratio, low: low ?? ratio, high: high ?? ratio, verdict }];
    });
    if (ratios.length === 0) return [];
    const labels = ratios.map(({ label }) => label);
    const verdicts = [...new Set(ratios.map(({ verdict }) => verdict))];
    const ends = ratios.flatMap(({ low, high }) => [low, high]);
    return [
      {
        id: `compared-${wanted}`,
        title: chartTitle,
        caption:
          "Ratio of the first treatment over the second, paired by round, with its 95 % interval, on a logarithmic " +
          "scale. An interval that contains 1 shows no difference. If the interval is narrow, it excludes a difference " +
          "that matters; if it is wide, there are too few data.",
        legend: verdicts.map((verdict) => ({ name: VERDICT_LABELS[verdict], colour: VERDICT_MARKS[verdict].colour })),
        ...rowsOf(34, labels),
        x: {
          type: "log",
          logBase: 2,
          min: Math.min(0.5, ...ends.map((end) => 2 ** Math.floor(Math.log2(end)))),
          max: Math.max(2, ...ends.map((end) => 2 ** Math.ceil(Math.log2(end)))),
          axisLabel: { formatter: (value: number) => `${Number(value.toPrecision(2))}×` },
        },
        marks: () => [
          intervals({ ...ROW_INTERVALS, ends: ratios.map(({ low, high }, row) => [row, low, high]) }),
          guide({ xAxis: 1 }, { type: "dashed" }),
          ...verdicts.map((verdict) => {
            const { symbol, rotate, colour } = VERDICT_MARKS[verdict];
            const points = ratios.flatMap((each, row) =>
              each.verdict === verdict ? [[each.ratio, row] as const] : [],
            );
            return dots({ colour, size: 11, points, z: 20, symbol, symbolRotate: rotate });
          }),
        ],
      },
    ];
  });
}

type Point = readonly [shards: number, value: number];

export function scalingCharts({ fits, treatments }: StudyRecord, rows: readonly ResultRow[]): Chart[] {
  return fits.flatMap((fit, index): Chart[] => {
    const pointOf = (id: string): Point[] => {
      const row = rows.find(({ deployment, title }) => deployment === id && title === fit.title);
      const shards = Number(treatments.find((treatment) => treatment.id === id)?.levels["primaries"] ?? NaN);
      if (row === undefined || Number.isNaN(shards)) return [];
      const value = fit.metric === "cpu-per-operation" ? (microsecondsPerOperation(row) ?? 0) : row.rps.median;
      return value > 0 ? [[shards, value]] : [];
    };
    const taken = fit.treatments.flatMap(pointOf);
    const excluded = fit.excluded.flatMap(({ treatment }) => pointOf(treatment));
    const points = [...taken, ...excluded];
    if (points.length < 2) return [];
    const { exponent, factor } = fit;
    const shards = points.map(([x]) => x);
    const fitted =
      exponent === null || factor === null
        ? []
        : [Math.min(...shards), Math.max(...shards)].map((x): Point => [x, factor * x ** exponent.estimate]);
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
        grid: {
          wide: { left: 64, right: 24, top: 16, bottom: 48 },
          narrow: { left: 52, right: 24, top: 16, bottom: 48 },
        },
        x: { type: "log", logBase: 2, ...powersOfTwo(shards), name: "shards" },
        y: {
          type: "log",
          logBase: 2,
          ...powersOfTwo([...points, ...fitted].map(([, y]) => y)),
          axisLabel: { formatter: shortCount },
        },
        marks: () => [
          line({ colour: TEXT_COLOUR, size: 1.5, points: fitted, lineStyle: { type: "dashed" } }),
          dots({ colour: colourOf(0), size: 10, points: taken }),
          dots({
            colour: colourOf(1),
            size: 10,
            points: excluded,
            symbol: "emptyCircle",
            itemStyle: { borderWidth: 2 },
          }),
        ],
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

function powersOfTwo(values: readonly number[]): { readonly min: number; readonly max: number } {
  return {
    min: 2 ** Math.floor(Math.log2(Math.min(...values))),
    max: 2 ** Math.ceil(Math.log2(Math.max(...values)) + 0.01),
  };
}

const DASHES = ["solid", "dashed", "dotted"] as const;

function growthCharts({ growth, treatments }: StudyRecord): Chart[] {
  const first = treatments.flatMap(({ id, label }) =>
    growth
      .filter(({ treatment }) => treatment === id)
      .slice(0, 1)
      .map(({ samples }) => ({ label, samples })),
  );
  if (first.length === 0) return [];
  const chart = (id: string, title: string, caption: string, curves: readonly (readonly Point[])[]): Chart => ({
    id,
    title,
    caption,
    legend: legendOf(first.map(({ label }) => label)),
    heights: { wide: 320, narrow: 280 },
    x: {
      ...COUNTS,
      min: 0,
      max: Math.max(...curves.flatMap((points) => points.map(([keys]) => keys))),
      name: "keys",
      splitLine: { show: false },
    },
    y: { ...COUNTS, min: 0 },
    marks: () =>
      curves.map((points, index) =>
        line({
          colour: colourOf(index),
          size: 2,
          points,
          lineStyle: { type: DASHES[index % DASHES.length] ?? "solid" },
        }),
      ),
  });
  return [
    chart(
      "growth-bytes",
      "Bytes per entry while the table grows",
      "Memory by number of keys, without the memory of the empty server and of clients' buffers. Each step up is a table " +
        "that doubles, so a fair comparison of engines covers a whole doubling.",
      first.map(({ samples }) =>
        samples.filter(({ keys }) => keys >= MIN_KEYS).map(({ keys, bytes }) => [keys, bytes / keys]),
      ),
    ),
    chart(
      "growth-rate",
      "New keys per second while the table grows",
      "In windows of a quarter of a second, by number of keys (first round of each treatment). The growing table causes " +
        "the dips that recur at the same number of keys in other rounds; the machine causes the other dips.",
      first.map(({ samples }) => insertionRates({ samples }).map(({ keys, rate }) => [keys, rate])),
    ),
  ];
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
    x: { type: "category", data: all.map((_referenceLoad, index) => String(index + 1)) },
    y: COUNTS,
    marks: () => [
      line({ colour: colourOf(3), size: 2, points: all.map(({ rps }) => rps), symbol: "emptyCircle", symbolSize: 7 }),
    ],
  };
}
