/** Charts of horizontal rows, such as a bar for each treatment. Pure. */
import type { CustomSeriesOption, EChartsOption } from "echarts";
import type { Chart, Width } from "./chart-base";
import { axisLabel, chartBase, GRID_COLOUR, lineOfWidth } from "./chart-base";

/** Width of the column with names of treatments, pixels. */
const NAMES: Readonly<Record<Width, number>> = { wide: 260, narrow: 132 };
/** Reserved width for text, pixels. Browser fonts can be wider than the font of the layout. */
const FONT_SLACK = 44;

/** A chart of horizontal rows with enough space for long names. */
export function rowsChart(width: Width, names: readonly string[]): EChartsOption {
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

/**
 * Heights of a chart with horizontal rows, pixels: for wide screens, and for narrow screens, where names need two
 * lines.
 */
export function heightOf(count: number, each: number): Chart["heights"] {
  return { wide: 60 + count * each, narrow: 64 + count * (each + 12) };
}

/** Intervals in the middle of each row. Each interval is drawn as a line from low to high with caps. */
export function rowIntervals(data: readonly (readonly [low: number, high: number, row: number])[]): CustomSeriesOption {
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
      const line = lineOfWidth(1.5);
      return {
        type: "group",
        children: [line(low, y, high, y), line(low, y - 4, low, y + 4), line(high, y - 4, high, y + 4)],
      };
    },
  };
}
