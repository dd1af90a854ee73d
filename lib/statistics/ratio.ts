/** Ratios of values of the same rounds, for studies. `benchmarks/results/rows.ts` has the speed-up of a run. */
import { type ConfidenceInterval, pairedInterval } from "./paired";

/** The fraction of studies in which the interval must contain the true ratio. */
export const CONFIDENCE = 0.95;

/**
 * Higher than `CONFIDENCE`: a study stops when its interval is narrow, and chance can make it so too early. By
 * simulation of the stopping rule (tests/lib/statistics/coverage.test.ts), such studies then contain the truth in
 * `CONFIDENCE`.
 */
const STOPPING_CONFIDENCE = 0.965;

/**
 * Verdict on a ratio. `no-difference` means that the interval contains 1 and is narrow enough to exclude differences of
 * more than twice the requested precision.
 */
export type RatioVerdict = "greater" | "less" | "no-difference" | "not-enough-data";

/** An estimated ratio. */
export interface Ratio {
  /** Estimate of the ratio. 1 means that both values are equal. Undefined without data. */
  readonly ratio: number | undefined;
  /** Lower bound of the interval. Undefined for fewer than three rounds. */
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly rounds: number;
  readonly verdict: RatioVerdict;
}

export interface PairedValues {
  readonly base: number;
  readonly other: number;
}

/**
 * By logarithms, so that a ratio and its inverse have the same verdict, and multiplicative noise becomes additive.
 * @param pairs one from each round
 * @param precision the relative difference that matters: 0.05 is 5 %
 */
export function pairedRatio(pairs: readonly PairedValues[], precision: number, asked = STOPPING_CONFIDENCE): Ratio {
  const logs = pairs.flatMap(({ base, other }) => (base > 0 && other > 0 ? [Math.log(other / base)] : []));
  return ratioOf(
    pairedInterval(logs, asked),
    logs.length === 0 ? undefined : logs.reduce((sum, log) => sum + log, 0) / logs.length,
    logs.length,
    precision,
  );
}

/** @param mean logarithm of the ratio. It is used only if there is no interval */
export function ratioOf(
  interval: ConfidenceInterval | undefined,
  mean: number | undefined,
  rounds: number,
  precision: number,
): Ratio {
  if (interval === undefined)
    return {
      ratio: mean === undefined ? undefined : Math.exp(mean),
      low: undefined,
      high: undefined,
      rounds,
      verdict: "not-enough-data",
    };
  const { estimate, low, high } = interval;
  return {
    ratio: Math.exp(estimate),
    low: Math.exp(low),
    high: Math.exp(high),
    rounds,
    verdict: verdictOf(interval, precision),
  };
}

function verdictOf({ low, high }: ConfidenceInterval, precision: number): RatioVerdict {
  if (low > 0) return "greater";
  if (high < 0) return "less";
  return halfWidth({ low, high }) <= Math.log1p(precision) ? "no-difference" : "not-enough-data";
}

/** Half the width of an interval of logarithms. */
function halfWidth({ low, high }: Pick<ConfidenceInterval, "low" | "high">): number {
  return (high - low) / 2;
}

export function isPrecise({ low, high }: Ratio, precision: number): boolean {
  return (
    low !== undefined &&
    high !== undefined &&
    halfWidth({ low: Math.log(low), high: Math.log(high) }) <= Math.log1p(precision)
  );
}

/** The width is assumed to shrink with the square root of the number. Undefined without an interval. */
export function roundsNeeded({ low, high, rounds }: Ratio, precision: number): number | undefined {
  if (low === undefined || high === undefined) return undefined;
  const half = halfWidth({ low: Math.log(low), high: Math.log(high) });
  return Math.max(rounds, Math.ceil(rounds * (half / Math.log1p(precision)) ** 2));
}
