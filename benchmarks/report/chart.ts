/** Charts as plain data. Each has drawings for wide and narrow screens, of which the style sheet shows one. */
import { createRequire } from "node:module";
import type * as Echarts from "echarts";
import type {
  BarSeriesOption,
  CustomSeriesOption,
  EChartsOption,
  GridComponentOption,
  LineSeriesOption,
  ScatterSeriesOption,
  SeriesOption,
  XAXisComponentOption,
  YAXisComponentOption,
} from "echarts";
import { type Html, Html as RawHtml, html } from "./html";

export type Width = "wide" | "narrow";
export type ByWidth<T> = Readonly<Record<Width, T>>;

/** Loading takes half a second, so pages without charts do not load ECharts. */
const echarts = (): typeof Echarts => createRequire(__filename)("echarts") as typeof Echarts;

/** Readers with color blindness can tell these colors apart. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"] as const;
export const TEXT_COLOUR = "#1f2933";
export const GRID_COLOUR = "#d5dbe1";
export const MUTED_COLOUR = "#6b7785";

const WIDTHS: ByWidth<number> = { wide: 880, narrow: 360 };
const NAMES: ByWidth<number> = { wide: 260, narrow: 132 };
/** Browser fonts can be wider than the font of the layout. */
const FONT_SLACK = 44;

type Axis = XAXisComponentOption | YAXisComponentOption;

interface Panel {
  readonly x: Axis | ((width: Width) => Axis);
  readonly y: Axis | ((width: Width) => Axis);
  readonly marks: (width: Width) => SeriesOption[];
  readonly grid?: ByWidth<GridComponentOption>;
}

export interface Chart extends Panel {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly legend: readonly { readonly name: string; readonly colour: string }[];
  readonly heights: ByWidth<number>;
  readonly below?: Panel;
}

export function colourOf(index: number): string {
  return COLOURS[Math.max(0, index) % COLOURS.length] ?? TEXT_COLOUR;
}

export function legendOf(names: readonly string[]): Chart["legend"] {
  return names.map((name, index) => ({ name, colour: colourOf(index) }));
}

export function slug(text: string): string {
  return text.toLowerCase().replaceAll(/\W+/g, "-");
}

export function renderFigure(chart: Chart): Html {
  const svg = (width: Width): Html => html`<div class="${width}">${new RawHtml(renderChart(chart, width))}</div>`;
  return html`<section>
    <figure id="${chart.id}">
      <h2>${chart.title}</h2>
      <p class="legend">
        ${chart.legend.map(({ name, colour }) => html`<span><i style="background: ${colour}"></i>${name}</span>`)}
      </p>
      ${svg("wide")}${svg("narrow")}
      <figcaption>${chart.caption}</figcaption>
    </figure>
  </section>`;
}

function renderChart(chart: Chart, width: Width): string {
  const size = { width: WIDTHS[width], height: chart.heights[width] };
  const instance = echarts().init(null, null, { renderer: "svg", ssr: true, ...size });
  try {
    instance.setOption(optionOf(chart, width));
    return instance
      .renderToSVGString()
      .replaceAll(/\bzr\d+-/g, (id) => `${chart.id}-${width}-${id}`)
      .replace("<svg ", `<svg role="img" aria-label="${chart.title}" `);
  } finally {
    instance.dispose();
  }
}

function optionOf(chart: Chart, width: Width): EChartsOption {
  const panels = [chart, ...(chart.below === undefined ? [] : [chart.below])];
  const isWide = width === "wide";
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: TEXT_COLOUR },
    grid: panels.map(
      ({ grid }) => grid?.[width] ?? { left: isWide ? 56 : 44, right: isWide ? 24 : 12, top: 16, bottom: 48 },
    ),
    xAxis: panels.map(({ x }, index) => axisOption(x, width, index) as XAXisComponentOption),
    yAxis: panels.map(({ y }, index) => axisOption(y, width, index) as YAXisComponentOption),
    series: panels.flatMap(({ marks }, index) =>
      marks(width).map((mark): SeriesOption => ({ ...mark, xAxisIndex: index, yAxisIndex: index })),
    ),
  };
}

function axisOption(given: Panel["x"], width: Width, gridIndex: number): object {
  const axis = typeof given === "function" ? given(width) : given;
  const isCategory = axis.type === "category";
  return {
    ...(isCategory ? { axisTick: { show: false }, axisLine: { lineStyle: { color: GRID_COLOUR } } } : {}),
    ...(isCategory ? {} : { splitLine: { lineStyle: { color: GRID_COLOUR } } }),
    ...(axis.name === undefined ? {} : { nameLocation: "middle", nameGap: 30, nameTextStyle: { color: TEXT_COLOUR } }),
    ...axis,
    gridIndex,
    axisLabel: {
      color: TEXT_COLOUR,
      fontSize: width === "wide" ? 12 : 11,
      hideOverlap: !isCategory,
      ...axis.axisLabel,
    },
  };
}

export function shortCount(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toFixed(2))}M`;
  return value >= 1e3 ? `${Number((value / 1e3).toFixed(value < 1e4 ? 1 : 0))}k` : String(Math.round(value));
}

export const COUNTS: Axis = { type: "value", axisLabel: { formatter: shortCount } };

/** On narrow screens, names need two lines. */
export function rowsOf(height: number, names: readonly string[]): Pick<Chart, "y" | "grid" | "heights"> {
  return {
    heights: { wide: 60 + names.length * height, narrow: 64 + names.length * (height + 12) },
    grid: {
      wide: { left: NAMES.wide, right: 28, top: 8, bottom: 34 },
      narrow: { left: NAMES.narrow, right: 28, top: 8, bottom: 34 },
    },
    y: (width) => ({
      type: "category",
      inverse: true,
      data: [...names],
      axisLabel: { width: NAMES[width] - FONT_SLACK, overflow: "break", lineHeight: width === "wide" ? 15 : 13 },
    }),
  };
}

type Position = readonly [x: number, y: number];
type Points = readonly Position[] | readonly number[];

const dataOf = (points: Points): (number | number[])[] =>
  points.map((point) => (typeof point === "number" ? point : [...point]));

interface MarkStyle {
  readonly colour: string;
  /** Width of a line or diameter of a point, or largest width of a bar, pixels. */
  readonly size: number;
  readonly points: Points;
}

export function line({ colour, size, points, ...more }: MarkStyle & LineSeriesOption): LineSeriesOption {
  const lineStyle = { color: colour, width: size, ...more.lineStyle };
  return { type: "line", symbol: "none", itemStyle: { color: colour }, ...more, lineStyle, data: dataOf(points) };
}

export function dots({ colour, size, points, ...more }: MarkStyle & ScatterSeriesOption): ScatterSeriesOption {
  const itemStyle = { color: colour, ...more.itemStyle };
  return { type: "scatter", symbolSize: size, ...more, itemStyle, data: dataOf(points) };
}

export function bars({ colour, size, points, ...more }: MarkStyle & BarSeriesOption): BarSeriesOption {
  return { type: "bar", barMaxWidth: size, itemStyle: { color: colour }, ...more, data: dataOf(points) };
}

export function guide(
  at: { readonly xAxis: number } | { readonly yAxis: number },
  lineStyle: { readonly type: "dashed" | "dotted"; readonly color?: string; readonly width?: number },
): ScatterSeriesOption {
  return {
    type: "scatter",
    data: [],
    markLine: {
      silent: true,
      symbol: "none",
      label: { show: false },
      lineStyle: { color: TEXT_COLOUR, ...lineStyle },
      data: [at],
    },
  };
}

interface Intervals {
  readonly ends: readonly (readonly [place: number, low: number, high: number])[];
  readonly isVertical: boolean;
  readonly cap: number;
  readonly lineWidth: number;
  readonly offset?: (band: number) => number;
}

/** ECharts has no error bars. */
export function intervals({ ends, isVertical, cap, lineWidth, offset }: Intervals): CustomSeriesOption {
  return {
    type: "custom",
    // With both ends as dimensions of an axis, the axis includes both ends.
    encode: isVertical ? { x: 0, y: [1, 2] } : { x: [1, 2], y: 0 },
    silent: true,
    z: 10,
    data: ends.map((each) => [...each]),
    renderItem: (_parameters, api) => {
      const size = api.size?.([1, 0]);
      const shift = offset?.(Array.isArray(size) ? (size[0] ?? 0) : 0) ?? 0;
      const [place = 0, low = 0, high = 0] = [0, 1, 2].map((dimension) => Number(api.value(dimension)));
      const at = (value: number): Position => {
        const [x = 0, y = 0] = api.coord(isVertical ? [place, value] : [value, place]);
        return [x + shift, y];
      };
      const [dx, dy] = isVertical ? [cap, 0] : [0, cap];
      const [from, to] = [at(low), at(high)];
      const across = ([x, y]: Position): [Position, Position] => [
        [x - dx, y - dy],
        [x + dx, y + dy],
      ];
      const lines = [[from, to] as const, across(from), across(to)];
      const style = { stroke: TEXT_COLOUR, lineWidth };
      return {
        type: "group",
        children: lines.map(([[x1, y1], [x2, y2]]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style })),
      };
    },
  };
}
