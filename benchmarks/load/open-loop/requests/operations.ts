import { SLOT_COUNT } from "../../../../valkey/topology/slots";
import { slotTags } from "../../../../valkey/topology/slot-tags";
import { keyNumber, keysPerInfix, zsetMember } from "../../../workloads/key-slices";
import {
  type DataKind,
  type KeyDistribution,
  type ValueSizes,
  KEY_FAMILIES,
  ZSET_MEMBERS,
} from "../../../workloads/mixed-workload";
import type { Random } from "../../../../lib/statistics/random";
import { encodeCommand } from "../../../../valkey/resp";
import { largestValueSize, sizeSampler } from "../../../workloads/value-sizes";

export interface Operation {
  readonly kind: "read" | "write";
  readonly slot: number;
  /** The encoded command, one character per byte. */
  readonly command: string;
}

export interface OperationSource<O extends Operation = Operation> {
  next(): O;
}

interface MixedOperationOptions {
  readonly data: DataKind;
  readonly reads: number;
  readonly keySpace: number;
  readonly keys: KeyDistribution;
  readonly values: ValueSizes;
  readonly isCluster: boolean;
}

/** Parts of these random letters become values, so that no server can compress a value. */
function payload(bytes: number, random: Random): string {
  const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  let block = "";
  for (let i = 0; i < Math.min(bytes, 4096); i++) block += LETTERS[random.below(LETTERS.length)] ?? "";
  return block.repeat(Math.ceil(bytes / Math.max(1, block.length))).slice(0, bytes);
}

const CACHED_NUMBERS = 65_536;

export class MixedOperationSource implements OperationSource {
  readonly #keys: ReturnType<typeof keySampler>;
  readonly #sizes: ReturnType<typeof sizeSampler>;
  readonly #payload: string;
  readonly #prefixes: readonly string[];
  readonly #numbers: readonly string[];

  constructor(
    private readonly options: MixedOperationOptions,
    private readonly random: Random,
  ) {
    this.#keys = keySampler(options.keys, options.keySpace, random);
    this.#sizes = sizeSampler(options.values, random);
    this.#payload = payload(largestValueSize(options.values), random);
    const family = KEY_FAMILIES[options.data];
    this.#prefixes = options.isCluster ? slotTags().map((tag) => `${family}:{${tag.padEnd(3, "}")}}:`) : [`${family}:`];
    this.#numbers = Array.from(
      { length: Math.min(CACHED_NUMBERS, keysPerInfix(options.keySpace, options.isCluster)) },
      (_, number) => keyNumber(number),
    );
  }

  next(): Operation {
    const index = this.#keys.next();
    const slot = this.options.isCluster ? index % SLOT_COUNT : 0;
    const number = this.options.isCluster ? Math.floor(index / SLOT_COUNT) : index;
    const key = `${this.#prefixes[slot] ?? ""}${this.#numbers[number] ?? keyNumber(number)}`;
    return this.random.uniform() < this.options.reads
      ? { kind: "read", slot, command: this.#read(key) }
      : { kind: "write", slot, command: this.#write(key) };
  }

  #read(key: string): string {
    return this.options.data === "strings"
      ? `*2\r\n$3\r\nGET\r\n$${key.length}\r\n${key}\r\n`
      : `*4\r\n$6\r\nZRANGE\r\n$${key.length}\r\n${key}\r\n$1\r\n0\r\n$2\r\n-1\r\n`;
  }

  #write(key: string): string {
    if (this.options.data === "sorted-sets")
      return encodeCommand([
        "ZADD",
        key,
        String(this.random.below(1_000_000)),
        zsetMember(this.random.below(ZSET_MEMBERS)),
      ]);
    const size = this.#sizes.next();
    return `*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$${size}\r\n${this.#payload.slice(0, size)}\r\n`;
  }
}

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
