/** Medians and what can be said of them from few repeats. Pure. */
import { medianSorted } from "simple-statistics";

/** A median with an interval that holds the true median with the confidence given. */
export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** 0 … 1; 0 for a single value. */
  readonly confidence: number;
}

const WANTED_CONFIDENCE = 0.95;

/**
 * The interval between the k-th smallest and the k-th greatest value, k as great as 95 % allow: the true median lies
 * outside with probability 2 · P(Binomial(n, ½) < k), whatever the distribution. Below six values even the whole
 * range falls short of 95 %; the range is given then, with the confidence it has.
 * @param values at least one
 */
export function medianInterval(values: readonly number[]): MedianInterval {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n === 0) throw new Error("the median of no values");
  let k = 1;
  while (2 * (k + 1) <= n && coverage(n, k + 1) >= WANTED_CONFIDENCE) k++;
  return {
    median: medianSorted(sorted),
    low: sorted[k - 1] ?? NaN,
    high: sorted[n - k] ?? NaN,
    confidence: Math.max(0, coverage(n, k)),
  };
}

/** 1 − 2 · P(Binomial(n, ½) < k). */
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
