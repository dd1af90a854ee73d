import type { TtlRule } from "../../model/backup";

const [ANY_BYTES, ANY_BYTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, NOT, TO] = Buffer.from("*?\\[]^-");

export class KeySelection {
  readonly #patterns: readonly KeyPattern[];
  readonly #unmatched: Set<KeyPattern>;

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

  get unmatched(): string[] {
    return [...this.#unmatched].map(({ text }) => text);
  }
}

export function unmatchedProblems({ unmatched }: KeySelection, option: string): string[] {
  return unmatched.map((pattern) => `${option}: at the restored time, no key matches ${JSON.stringify(pattern)}`);
}

/** Whole milliseconds. @param at restored time, milliseconds since the epoch */
export function ttlShift(rule: TtlRule, at: number, now: number): number {
  return rule === "absolute" ? 0 : Math.max(0, Math.round(now - at));
}

/** Entry N is 1 if the part matches a byte with the value N. `undefined` stands for `*`. */
type Token = Uint8Array | undefined;

/** With the rules of the command KEYS: `*`, `?`, `[a-c]`, `[^a]`, `\`. Bytes, so `?` matches one byte of a key. */
export class KeyPattern {
  readonly #tokens: readonly Token[];

  constructor(readonly text: string) {
    this.#tokens = tokensOf(Buffer.from(text));
  }

  matches(key: Uint8Array): boolean {
    const tokens = this.#tokens;
    let [token, byte] = [0, 0];
    /** Last `*`, and the first byte after what it matches. When a later part does not match, it takes one more byte. */
    let [star, resume] = [-1, 0];
    while (byte < key.length) {
      const allowed = tokens[token];
      if (token < tokens.length && allowed === undefined) {
        star = token++;
        resume = byte;
      } else if (allowed?.[key[byte] ?? 0] === 1) {
        token++;
        byte++;
      } else if (star >= 0) {
        token = star + 1;
        byte = ++resume;
      } else return false;
    }
    while (token < tokens.length && tokens[token] === undefined) token++;
    return token === tokens.length;
  }
}

function tokensOf(pattern: Buffer): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const byte = pattern[at];
    if (byte === ANY_BYTES) tokens.push(undefined);
    else if (byte === ANY_BYTE) tokens.push(new Uint8Array(256).fill(1));
    else if (byte === OPEN_BRACKET) {
      const allowed = new Uint8Array(256);
      at = readClass(pattern, at + 1, allowed);
      tokens.push(allowed);
    } else {
      if (byte === BACKSLASH && at + 1 < pattern.length) at++;
      tokens.push(single(pattern[at] ?? 0));
    }
  }
  return tokens;
}

function single(byte: number): Uint8Array {
  const allowed = new Uint8Array(256);
  allowed[byte] = 1;
  return allowed;
}

/** Without a closing bracket, the class ends with the pattern. @returns position of the end */
function readClass(pattern: Buffer, start: number, allowed: Uint8Array): number {
  const isInverse = pattern[start] === NOT;
  let at = isInverse ? start + 1 : start;
  for (; at < pattern.length && pattern[at] !== CLOSE_BRACKET; at++) {
    if (pattern[at] === BACKSLASH && at + 1 < pattern.length) allowed[pattern[++at] ?? 0] = 1;
    else if (pattern[at + 1] === TO && at + 2 < pattern.length) {
      const [a, b] = [pattern[at] ?? 0, pattern[at + 2] ?? 0];
      allowed.fill(1, Math.min(a, b), Math.max(a, b) + 1);
      at += 2;
    } else allowed[pattern[at] ?? 0] = 1;
  }
  if (isInverse) for (let byte = 0; byte < 256; byte++) allowed[byte] = allowed[byte] === 1 ? 0 : 1;
  return at;
}
