/** Which key is meant next, by its index from 0 to below the key space. Pure from a seed. */
import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import type { KeyDistribution } from "../../../workloads/mixed-workload";
import type { Random } from "../../../../lib/statistics/random";

export interface KeySampler {
  next(): number;
}

export function keySampler(keys: KeyDistribution, keySpace: number, random: Random): KeySampler {
  switch (keys.distribution) {
    case "uniform":
      return { next: () => random.below(keySpace) };
    case "zipfian": {
      const ranks = new ZipfianSampler(keySpace, keys.theta, random);
      const spread = rankPermutation(keySpace);
      return { next: () => spread(ranks.next()) };
    }
    case "hot-set": {
      const hot = Math.min(keySpace, Math.max(1, Math.round(keys.keys * keySpace)));
      const spread = rankPermutation(keySpace);
      return {
        next: () =>
          spread(
            hot === keySpace || random.uniform() < keys.requests
              ? random.below(hot)
              : hot + random.below(keySpace - hot),
          ),
      };
    }
  }
}

/**
 * Ranks from 0, the k-th (from 1) with probability proportional to k^−theta, exactly and for any theta above 0: by
 * rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
 * ACM TOMACS 6(3), 1996), which needs no table and no sum over all keys.
 */
export class ZipfianSampler {
  readonly #first: number;
  readonly #last: number;
  readonly #threshold: number;

  constructor(
    private readonly count: number,
    private readonly theta: number,
    private readonly random: Random,
  ) {
    this.#first = this.#integral(1.5) - 1;
    this.#last = this.#integral(count + 0.5);
    this.#threshold = 2 - this.#inverse(this.#integral(2.5) - this.#weight(2));
  }

  next(): number {
    for (;;) {
      const u = this.#last + this.random.uniform() * (this.#first - this.#last);
      const x = this.#inverse(u);
      const rank = Math.min(this.count, Math.max(1, Math.round(x)));
      if (rank - x <= this.#threshold || u >= this.#integral(rank + 0.5) - this.#weight(rank)) return rank - 1;
    }
  }

  #weight(x: number): number {
    return Math.exp(-this.theta * Math.log(x));
  }

  /** ∫ x^−theta; its limit is the logarithm where theta is 1. */
  #integral(x: number): number {
    const log = Math.log(x);
    return expm1Over((1 - this.theta) * log) * log;
  }

  #inverse(y: number): number {
    const t = Math.max(-1, y * (1 - this.theta));
    return Math.exp(log1pOver(t) * y);
  }
}

/** (e^x − 1) / x, which is 1 at 0. */
function expm1Over(x: number): number {
  return Math.abs(x) > 1e-8 ? Math.expm1(x) / x : 1 + (x / 2) * (1 + x / 3);
}

/** ln(1 + x) / x, which is 1 at 0. */
function log1pOver(x: number): number {
  return Math.abs(x) > 1e-8 ? Math.log1p(x) / x : 1 - x / 2 + (x * x) / 3;
}

/** Of the key space, and of the slots: ranks that follow each other then lie far apart in both. */
const GOLDEN = 0.618_033_988_749_895;

/**
 * Every rank to a key of its own, hot ones far from each other and so over all slots: multiplication by a number without a
 * common divisor with the key space. (YCSB's hash puts several ranks on one key.)
 */
export function rankPermutation(keySpace: number): (rank: number) => number {
  const unit = keySpace % SLOT_COUNT === 0 ? SLOT_COUNT : 1;
  // Odd within the slots, so that it passes through all of them.
  const within = unit === 1 ? 0 : Math.round(SLOT_COUNT * GOLDEN) | 1;
  let factor = Math.max(1, Math.floor((keySpace * GOLDEN) / unit)) * unit + within;
  while (commonDivisor(factor, keySpace) !== 1) factor += unit;
  factor %= keySpace;
  // Products above 2^53 are not exact.
  if (factor * keySpace <= Number.MAX_SAFE_INTEGER) return (rank) => (rank * factor) % keySpace;
  const wide = BigInt(factor);
  const space = BigInt(keySpace);
  return (rank) => Number((BigInt(rank) * wide) % space);
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
