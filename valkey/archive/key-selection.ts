/** The keys that a restore takes from an archive, and the TTLs that they get. Pure. */
import { KeyPattern } from "../rdb/glob";

/**
 * `absolute`: a key expires at the time at which it would have expired. `remaining`: a key has as much time left as it
 * had at the instant.
 */
export const TTL_RULES = ["absolute", "remaining"] as const;
export type TtlRule = (typeof TTL_RULES)[number];

/** Keys that match one of several patterns, or all keys. */
export class KeySelection {
  readonly #patterns: readonly KeyPattern[];
  readonly #unmatched: Set<KeyPattern>;

  /** @param patterns patterns as KEYS has them. Without any, all keys are selected */
  constructor(readonly patterns: readonly string[] = []) {
    this.#patterns = patterns.map((pattern) => new KeyPattern(pattern));
    this.#unmatched = new Set(this.#patterns);
  }

  get isAll(): boolean {
    return this.#patterns.length === 0;
  }

  has(key: Uint8Array): boolean {
    let isSelected = this.isAll;
    for (const pattern of this.#patterns) {
      // After a match, only patterns without a match are still of interest.
      if (isSelected && !this.#unmatched.has(pattern)) continue;
      if (!pattern.matches(key)) continue;
      isSelected = true;
      this.#unmatched.delete(pattern);
    }
    return isSelected;
  }

  /** Patterns that no key has matched so far. */
  get unmatched(): string[] {
    return [...this.#unmatched].map(({ text }) => text);
  }
}

/**
 * Whole milliseconds that are added to the TTLs of an archived shard.
 * @param at the shard's instant, milliseconds since the epoch
 * @param now present time
 */
export function ttlShift(rule: TtlRule, at: number, now: number): number {
  return rule === "absolute" ? 0 : Math.max(0, Math.round(now - at));
}
