import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import type { KeyDistribution } from "../../../workloads/mixed-workload";
import type { Random } from "../../../../lib/statistics/random";

export function keySampler(keys: KeyDistribution, keySpace: number, random: Random): { next(): number } {
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
 * Rank k, from 1, has a probability exactly proportional to k^−theta. Rejection-inversion needs neither a table nor a
 * sum (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
 * TOMACS 6(3), 1996).
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

  #integral(x: number): number {
    const log = Math.log(x);
    return expm1Over((1 - this.theta) * log) * log;
  }

  #inverse(y: number): number {
    const t = Math.max(-1, y * (1 - this.theta));
    return Math.exp(log1pOver(t) * y);
  }
}

/** The value of (e^x − 1) / x; 1 at x = 0. */
function expm1Over(x: number): number {
  return Math.abs(x) > 1e-8 ? Math.expm1(x) / x : 1 + (x / 2) * (1 + x / 3);
}

/** The value of ln(1 + x) / x; 1 at x = 0. */
function log1pOver(x: number): number {
  return Math.abs(x) > 1e-8 ? Math.log1p(x) / x : 1 - x / 2 + (x * x) / 3;
}

/** Multiples of this number modulo 1 are far apart, so consecutive ranks belong to distant keys and slots. */
const GOLDEN_SECTION = 0.618_033_988_749_895;

/** Multiplies by a number coprime to the key space. A hash as in YCSB maps several ranks to the same key. */
export function rankPermutation(keySpace: number): (rank: number) => number {
  const unit = keySpace % SLOT_COUNT === 0 ? SLOT_COUNT : 1;
  // An odd number is coprime to the number of slots, which is a power of two.
  const within = unit === 1 ? 0 : Math.round(SLOT_COUNT * GOLDEN_SECTION) | 1;
  let factor = Math.max(1, Math.floor((keySpace * GOLDEN_SECTION) / unit)) * unit + within;
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
