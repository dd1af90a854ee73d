import { fitLine } from "../../lib/statistics/power-law";
import { twoSidedT } from "../../lib/statistics/student";
import type { SoakWindow } from "./checkpoint-log";
import type { NodeSample } from "./node-sample";

/** Share of the windows, at the beginning, that trends ignore: the deployment is filled and warms up. */
const WARM_UP = 0.25;
const CONFIDENCE = 0.95;
/** Lowest growth per hour, relative to the value: the allocator's memory use varies by this amount. */
const MIN_RELATIVE_GROWTH = 0.01;
const MIN_POINTS = 4;

/** x is the hours since the first window, and y is the value. */
interface TrendPoint {
  readonly x: number;
  readonly y: number;
}

export interface Trend {
  readonly perHour: number;
  readonly low: number;
  readonly high: number;
  readonly relativePerHour: number;
  /** The whole confidence interval is above zero, and the growth is at least 1 % per hour. */
  readonly grows: boolean;
}

/** Samples without the value are omitted. */
export function nodeSeries(
  node: string,
  windows: readonly SoakWindow[],
  figure: (sample: NodeSample) => number | null,
): TrendPoint[] {
  const startMs = Date.parse(windows[0]?.at ?? "");
  return windows.flatMap(({ at, samples }) => {
    const sample = samples.find((each) => each.node === node);
    const y = sample === undefined ? null : figure(sample);
    return y === null ? [] : [{ x: (Date.parse(at) - startMs) / 3_600_000, y }];
  });
}

export function trendOf(series: readonly TrendPoint[]): Trend | undefined {
  const points = series.slice(Math.floor(series.length * WARM_UP));
  const line = fitLine(points);
  if (line === undefined || points.length < MIN_POINTS) return undefined;
  const halfWidth = twoSidedT(CONFIDENCE, points.length - 2) * line.slopeError;
  const mean = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const low = line.slope - halfWidth;
  const relativePerHour = line.slope / mean;
  const grows = low > 0 && relativePerHour > MIN_RELATIVE_GROWTH;
  return { perHour: line.slope, low, high: line.slope + halfWidth, relativePerHour, grows };
}
