/** The samples were not measured in the same rounds. */
import { mean, sampleVariance } from "simple-statistics";
import { type ConfidenceInterval, MIN_PAIRS } from "./paired";
import { type Ratio, CONFIDENCE, ratioOf } from "./ratio";
import { twoSidedT } from "./student";

/** The mean of `other` minus that of `base`; noise may differ. @returns undefined if a sample has under three values */
export function welchInterval(
  base: readonly number[],
  other: readonly number[],
  confidence: number,
): ConfidenceInterval | undefined {
  if (base.length < MIN_PAIRS || other.length < MIN_PAIRS) return undefined;
  const [a, b] = [base, other].map((values) => ({
    n: values.length,
    share: sampleVariance([...values]) / values.length,
  }));
  if (a === undefined || b === undefined) return undefined;
  const estimate = mean([...other]) - mean([...base]);
  const variance = a.share + b.share;
  if (variance === 0) return { estimate, low: estimate, high: estimate, confidence };
  const degrees = variance ** 2 / (a.share ** 2 / (a.n - 1) + b.share ** 2 / (b.n - 1));
  const half = twoSidedT(confidence, Math.max(1, degrees)) * Math.sqrt(variance);
  return { estimate, low: estimate - half, high: estimate + half, confidence };
}

/** @param base repeats of one run @param precision the relative difference that matters: 0.05 is 5 % */
export function independentRatio(base: readonly number[], other: readonly number[], precision: number): Ratio {
  const logs = [base, other].map((values) => values.filter((value) => value > 0).map(Math.log));
  const [before = [], after = []] = logs;
  return ratioOf(
    welchInterval(before, after, CONFIDENCE),
    before.length === 0 || after.length === 0 ? undefined : mean(after) - mean(before),
    Math.min(before.length, after.length),
    precision,
  );
}
