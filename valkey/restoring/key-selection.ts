/** The keys that a restore takes from an archive, and the TTLs that they get. Pure. */
import { KeyPattern } from "../rdb/glob";

/**
 * `absolute`: a restored key expires at the time at which the archived key would have expired. `remaining`: it gets the
 * TTL that the archived key had at the time as of which the data are restored.
 */
export const TTL_RULES = ["absolute", "remaining"] as const;
export type TtlRule = (typeof TTL_RULES)[number];

/** Selects the keys that match at least one of several patterns. Without patterns, selects all keys. */
export class KeySelection {
  readonly #patterns: readonly KeyPattern[];
  readonly #unmatched: Set<KeyPattern>;

  /** @param patterns patterns in the syntax of the command KEYS. Without patterns, all keys are selected */
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
 * A sentence for each pattern that did not match any key.
 * @param option name of the option or argument that has the patterns
 */
export function unmatchedProblems({ unmatched }: KeySelection, option: string): string[] {
  return unmatched.map((pattern) => `${option}: at the restored time, no key matches ${JSON.stringify(pattern)}`);
}

/**
 * Whole milliseconds that are added to the expiry times of restored keys.
 * @param at time as of which the shard is restored, milliseconds since the epoch
 * @param now present time, milliseconds since the epoch
 */
export function ttlShift(rule: TtlRule, at: number, now: number): number {
  return rule === "absolute" ? 0 : Math.max(0, Math.round(now - at));
}
