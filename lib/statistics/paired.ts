import { mean, medianSorted, sampleStandardDeviation } from "simple-statistics";
import { twoSidedT } from "./student";

export interface ConfidenceInterval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
}

/** With two pairs, the interval would be 12.7 standard errors on each side, which is too wide to be useful. */
export const MIN_PAIRS = 3;
/** Below, Student's interval. For normal noise, ranks are hardly wider; with one outlier in ten, much narrower. */
const RANKS_FROM = 7;

/**
 * Under seven differences, Student's interval around the mean, which keeps its confidence, as the difference of two
 * equally noisy values is symmetric. Otherwise Wilcoxon's around the median of all pairwise means (Hodges and Lehmann),
 * which assumes only symmetry. A bootstrap of 95 % contains the truth in 82 % of the cases for five values, 90 % for
 * ten.
 * @returns undefined for fewer than three
 */
export function pairedInterval(differences: readonly number[], confidence: number): ConfidenceInterval | undefined {
  if (differences.length < MIN_PAIRS) return undefined;
  return differences.length < RANKS_FROM
    ? studentInterval(differences, confidence)
    : signedRankInterval(differences, confidence);
}

export function studentInterval(values: readonly number[], confidence: number): ConfidenceInterval {
  const estimate = mean([...values]);
  const half =
    (twoSidedT(confidence, values.length - 1) * sampleStandardDeviation([...values])) / Math.sqrt(values.length);
  return { estimate, low: estimate - half, high: estimate + half, confidence };
}

/** Around the median of all pairwise means. @param values enough for the confidence: six for 95 % */
export function signedRankInterval(values: readonly number[], confidence: number): ConfidenceInterval {
  const walsh = Float64Array.from(
    values.flatMap((value, index) => values.slice(index).map((other) => (value + other) / 2)),
  ).sort();
  const rank = signedRank(values.length, 1 - confidence);
  if (rank === 0) throw new Error(`${values.length} values are too few for an interval with confidence ${confidence}`);
  return {
    estimate: medianSorted([...walsh]),
    low: walsh[rank - 1] ?? NaN,
    high: walsh[walsh.length - rank] ?? NaN,
    confidence,
  };
}

const ranks = new Map<string, number>();

/**
 * Greatest k for which the interval from the k-th smallest to the k-th greatest pairwise mean misses with at most
 * `tail`: 2 · P(W < k), by the exact distribution of the sum of positive ranks W. 0 if there is none.
 */
export function signedRank(n: number, tail: number): number {
  const key = `${n} ${tail}`;
  const known = ranks.get(key);
  if (known !== undefined) return known;
  const most = (n * (n + 1)) / 2;
  /** By sum of ranks, of the 2ⁿ combinations of signs. Fractions do not overflow, but numbers of combinations would. */
  let parts: number[] = Array.from({ length: most + 1 }, (_, sum) => (sum === 0 ? 1 : 0));
  for (let rank = 1; rank <= n; rank++) parts = parts.map((part, sum) => (part + (parts[sum - rank] ?? 0)) / 2);
  let k = 0;
  for (let below = parts[0] ?? 0; 2 * below <= tail; below += parts[k] ?? 1) k++;
  ranks.set(key, k);
  return k;
}
