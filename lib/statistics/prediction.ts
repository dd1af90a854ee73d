/** Predicts a measurement at a new x from measured points, with the uncertainty of the prediction. Pure. */
import { type Point, fitLine } from "./power-law";
import { twoSidedT } from "./student";

/**
 * A prediction with an interval that contains the next measurement with the given confidence. The width of the interval
 * combines the scatter of one measurement with the error of the fit. The error of the fit grows with the distance from
 * the measured points.
 */
export interface Prediction {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
}

/** Two points are too few, because they have no scatter. */
const MIN_POINTS = 3;

export function predictLine(points: readonly Point[], x: number, confidence: number): Prediction | undefined {
  const line = fitLine(points);
  if (line === undefined || points.length < MIN_POINTS) return undefined;
  const n = points.length;
  const meanX = points.reduce((sum, point) => sum + point.x, 0) / n;
  const sxx = points.reduce((sum, point) => sum + (point.x - meanX) ** 2, 0);
  const residual =
    points.reduce((sum, point) => sum + (point.y - line.intercept - line.slope * point.x) ** 2, 0) / (n - 2);
  const estimate = line.intercept + line.slope * x;
  const half = twoSidedT(confidence, n - 2) * Math.sqrt(residual * (1 + 1 / n + (x - meanX) ** 2 / sxx));
  return { estimate, low: estimate - half, high: estimate + half, confidence };
}

/** For positive values with proportional scatter. The interval never goes below 0. @returns as `predictLine` */
export function predictRelativeLine(points: readonly Point[], x: number, confidence: number): Prediction | undefined {
  const weighted = points.flatMap((point) => (point.y > 0 ? [{ ...point, weight: 1 / point.y ** 2 }] : []));
  const n = weighted.length;
  const sum = (of: (point: (typeof weighted)[number]) => number): number =>
    weighted.reduce((total, point) => total + point.weight * of(point), 0);
  const total = sum(() => 1);
  const meanX = sum((point) => point.x) / total;
  const meanY = sum((point) => point.y) / total;
  const sxx = sum((point) => (point.x - meanX) ** 2);
  if (n < MIN_POINTS || !(sxx > 0)) return undefined;
  const slope = sum((point) => (point.x - meanX) * (point.y - meanY)) / sxx;
  const estimate = meanY + slope * (x - meanX);
  const residual = sum((point) => (point.y - meanY - slope * (point.x - meanX)) ** 2) / (n - 2);
  const half =
    twoSidedT(confidence, n - 2) * Math.sqrt(residual * (estimate ** 2 + 1 / total + (x - meanX) ** 2 / sxx));
  return { estimate, low: Math.max(0, estimate - half), high: estimate + half, confidence };
}

/** Symmetric for the logarithm. Points that are not positive are left out. @returns as `predictLine` */
export function predictPowerLaw(points: readonly Point[], x: number, confidence: number): Prediction | undefined {
  const logs = points.flatMap((point) =>
    point.x > 0 && point.y > 0 ? [{ x: Math.log(point.x), y: Math.log(point.y) }] : [],
  );
  const found = predictLine(logs, Math.log(x), confidence);
  return found === undefined
    ? undefined
    : { estimate: Math.exp(found.estimate), low: Math.exp(found.low), high: Math.exp(found.high), confidence };
}

export function mapPrediction(
  { estimate, low, high, confidence }: Prediction,
  change: (value: number) => number,
): Prediction {
  return { estimate: change(estimate), low: change(low), high: change(high), confidence };
}
