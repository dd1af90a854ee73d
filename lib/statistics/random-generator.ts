/** Random numbers from a seed, the same on every machine. */
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Numbers drawn before any that counts: neighbouring seeds begin alike. */
const SKIPPED = 64;

export class Random {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  /** @param stream streams of one seed never overlap, however long they are: one for each worker and use */
  constructor(seed: number, stream = 0) {
    this.#generator = xoroshiro128plus(seed);
    for (let i = 0; i < SKIPPED; i++) this.#generator.next();
    for (let i = 0; i < stream; i++) this.#generator.jump();
  }

  /** From 0 to below 1, 53 bits of it random. */
  uniform(): number {
    return ((this.#generator.next() >>> 5) * 67_108_864 + (this.#generator.next() >>> 6)) / 9_007_199_254_740_992;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.uniform() * limit);
  }

  /** Exponentially distributed with mean 1. */
  exponential(): number {
    return -Math.log(1 - this.uniform());
  }

  /** Normally distributed with mean 0 and variance 1 (Box and Muller's way; the second number is let go). */
  normal(): number {
    return Math.sqrt(2 * this.exponential()) * Math.cos(2 * Math.PI * this.uniform());
  }
}
