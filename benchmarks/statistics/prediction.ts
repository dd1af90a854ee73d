/** What measured points say of a place where nothing was measured, with the uncertainty of saying so. Pure. */
import type { Point } from "./power-law";
import { fitLine } from "./power-law";
import { twoSidedT } from "./student";

/** Where the next measurement would lie, with that confidence: the scatter of one measurement and the fit's own error, which grows with the distance. */
export interface Prediction {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
}

/** The least for which there is a scatter to tell from. */
export const LEAST_POINTS = 3;

/** By the straight line of least squares. @returns undefined for fewer than three points, or for one x alone */
export function predictLine(points: readonly Point[], x: number, confidence: number): Prediction | undefined {
  const line = fitLine(points);
  if (line === undefined || points.length < LEAST_POINTS) return undefined;
  const n = points.length;
  const meanX = points.reduce((sum, point) => sum + point.x, 0) / n;
  const sxx = points.reduce((sum, point) => sum + (point.x - meanX) ** 2, 0);
  const residual = points.reduce((sum, point) => sum + (point.y - line.intercept - line.slope * point.x) ** 2, 0) / (n - 2);
  const estimate = line.intercept + line.slope * x;
  const half = twoSidedT(confidence, n - 2) * Math.sqrt(residual * (1 + 1 / n + (x - meanX) ** 2 / sxx));
  return { estimate, low: estimate - half, high: estimate + half, confidence };
}

/** By y = a · x^p, fitted to logarithms: its interval is a factor both ways. All x and y must be positive. @returns undefined as above */
export function predictPowerLaw(points: readonly Point[], x: number, confidence: number): Prediction | undefined {
  const logs = points.flatMap((point) => (point.x > 0 && point.y > 0 ? [{ x: Math.log(point.x), y: Math.log(point.y) }] : []));
  const found = predictLine(logs, Math.log(x), confidence);
  return found === undefined ? undefined : { estimate: Math.exp(found.estimate), low: Math.exp(found.low), high: Math.exp(found.high), confidence };
}

/** The same of another figure, where that is known to follow. */
export function mapPrediction({ estimate, low, high, confidence }: Prediction, change: (value: number) => number): Prediction {
  return { estimate: change(estimate), low: change(low), high: change(high), confidence };
}
