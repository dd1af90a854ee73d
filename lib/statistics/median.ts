import { medianSorted } from "simple-statistics";

/** A median with an interval that contains the true median with the given confidence. */
export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** Confidence of the interval, 0 to 1. A single value has the confidence 0. */
  readonly confidence: number;
}

const WANTED_CONFIDENCE = 0.95;

/**
 * Between the k-th smallest and largest value, with the largest k of 95 %: the true median is outside with a
 * probability of at most 2 · P(Binomial(n, ½) < k). With under six values, the interval over all, with its confidence.
 * @param values at least one
 */
export function medianInterval(values: readonly number[]): MedianInterval {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n === 0) throw new Error("a median needs at least one value");
  let k = 1;
  while (2 * (k + 1) <= n && coverage(n, k + 1) >= WANTED_CONFIDENCE) k++;
  return {
    median: medianSorted(sorted),
    low: sorted[k - 1] ?? NaN,
    high: sorted[n - k] ?? NaN,
    confidence: Math.max(0, coverage(n, k)),
  };
}

/** Confidence of the interval: 1 − 2 · P(Binomial(n, ½) < k). */
function coverage(n: number, k: number): number {
  let term = 0.5 ** n;
  let below = 0;
  for (let i = 0; i < k; i++) {
    below += term;
    term *= (n - i) / (i + 1);
  }
  return 1 - 2 * below;
}

export function median(values: readonly number[]): number {
  return medianInterval(values).median;
}
