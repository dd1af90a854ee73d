/** Sizes, colors and axes that all charts share. Pure. */
import type { EChartsOption } from "echarts";

/**
 * Width of the reader's screen. The report contains one drawing of each chart for each of these widths. The style sheet
 * of the report shows the drawing that fits.
 */
export type Width = "wide" | "narrow";

/** Colors of Okabe and Ito, in the order of deployments. Readers with color blindness can tell these colors apart. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"] as const;

export const TEXT_COLOUR = "#1f2933";

export const GRID_COLOUR = "#d5dbe1";

export function colourOf(index: number): string {
  return COLOURS[Math.max(0, index) % COLOURS.length] ?? TEXT_COLOUR;
}

export interface Chart {
  readonly id: string;
  readonly title: string;
  /** Caption of the chart. It explains the content of the chart, and how to read the chart. */
  readonly caption: string;
  readonly legend: readonly { readonly name: string; readonly colour: string }[];
  readonly heights: Readonly<Record<Width, number>>;
  readonly option: (width: Width) => EChartsOption;
}

export function chartBase(width: Width): EChartsOption {
  return {
    animation: false,
    textStyle: { fontFamily: "system-ui, sans-serif", color: TEXT_COLOUR },
    grid: { left: width === "wide" ? 56 : 44, right: width === "wide" ? 24 : 12, top: 16, bottom: 48 },
  };
}

export const axisLabel = (width: Width): { color: string; fontSize: number } => ({
  color: TEXT_COLOUR,
  fontSize: width === "wide" ? 12 : 11,
});

export const splitLine = { lineStyle: { color: GRID_COLOUR } };

/** A number as short text: `1.2M`, `350k`. */
export function shortCount(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toFixed(2))}M`;
  return value >= 1e3 ? `${Number((value / 1e3).toFixed(value < 1e4 ? 1 : 0))}k` : String(Math.round(value));
}

interface LineShape {
  readonly type: "line";
  readonly shape: { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number };
  readonly style: { readonly stroke: string; readonly lineWidth: number };
}

/** Returns a function that makes a line between two points. @param lineWidth width of the line, pixels */
export function lineOfWidth(lineWidth: number): (x1: number, y1: number, x2: number, y2: number) => LineShape {
  return (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: TEXT_COLOUR, lineWidth } });
}
