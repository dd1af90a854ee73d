import { type ConfidenceInterval, MIN_PAIRS, studentInterval } from "./paired";
import { twoSidedT } from "./student";

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface LineFit {
  readonly slope: number;
  readonly intercept: number;
  /** NaN for two points, because two points have no scatter. */
  readonly slopeError: number;
}

export function fitLine(points: readonly Point[]): LineFit | undefined {
  const n = points.length;
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / n;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / n;
  const sxx = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  if (n < 2 || sxx === 0) return undefined;
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / sxx;
  const intercept = meanY - slope * meanX;
  const residual = points.reduce((sum, { x, y }) => sum + (y - intercept - slope * x) ** 2, 0) / (n - 2);
  return { slope, intercept, slopeError: Math.sqrt(residual / sxx) };
}

/** An exponent of 1 means perfect scaling, and an exponent of 0 means no scaling. */
interface PowerLaw {
  readonly exponent: ConfidenceInterval;
  readonly factor: number;
  readonly points: number;
}

/**
 * Three or more rounds: each gives a p, with Student's interval over them: a slow round changes a but not p. Fewer: the
 * interval of the line fitted to all points, which assumes independent scatter.
 * @returns undefined for too few points
 */
export function fitPowerLaw(rounds: readonly (readonly Point[])[], confidence: number): PowerLaw | undefined {
  const logs = rounds.map((points) =>
    points.flatMap(({ x, y }) => (x > 0 && y > 0 ? [{ x: Math.log(x), y: Math.log(y) }] : [])),
  );
  const all = logs.flat();
  const together = fitLine(all);
  if (together === undefined) return undefined;
  const slopes = logs.flatMap((points) => fitLine(points)?.slope ?? []);
  if (slopes.length >= MIN_PAIRS) {
    const exponent = studentInterval(slopes, confidence);
    const meanX = all.reduce((sum, { x }) => sum + x, 0) / all.length;
    const meanY = all.reduce((sum, { y }) => sum + y, 0) / all.length;
    return { exponent, factor: Math.exp(meanY - exponent.estimate * meanX), points: all.length };
  }
  if (all.length < 3) return undefined;
  const half = twoSidedT(confidence, all.length - 2) * together.slopeError;
  return {
    exponent: { estimate: together.slope, low: together.slope - half, high: together.slope + half, confidence },
    factor: Math.exp(together.intercept),
    points: all.length,
  };
}
