/** Values arrive in pieces of any size. Only lengths and the headers of strings must be in one piece. */
import { LengthReader, MISSING } from "./lengths";
import { RdbCorrupt } from "./rdb-corrupt";
import type { Layout } from "./rdb-format";

interface Level {
  layout: Layout;
  index: number;
  remaining: number;
}

/** Opcodes in values and auxiliary data of modules. */
const MODULE = { end: 0, signed: 1, unsigned: 2, float: 3, double: 4, string: 5 } as const;
/** Lowest first byte of a score that has no text, because the score is infinite or not a number. */
const SCORE_WITHOUT_TEXT = 253;

export class ValueSkipper {
  /** Position after the bytes that the last call of `skip` has skipped. */
  at = 0;
  readonly #lengths = new LengthReader();
  readonly #levels: Level[] = [];
  #depth = -1;
  /** Number of bytes of a string or of a number that must still be skipped. */
  #rest = 0;

  begin(layout: Layout): void {
    this.#depth = -1;
    this.#rest = 0;
    this.#push(layout, 0);
  }

  /** @returns whether the value is complete. If not, the next call needs the bytes from `at` again, and more */
  skip(bytes: Buffer, from: number, end: number): boolean {
    let at = from;
    for (;;) {
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, end - at);
        at += skipped;
        this.#rest -= skipped;
        if (this.#rest > 0) break;
      }
      const level = this.#levels[this.#depth];
      if (this.#depth < 0 || level === undefined) {
        this.at = at;
        return true;
      }
      if (level.index >= level.layout.length) {
        if (level.remaining === 0) this.#depth--;
        else {
          level.remaining--;
          level.index = 0;
        }
        continue;
      }
      const next = this.#skipHeader(level, bytes, at, end);
      if (next === MISSING) break;
      at = next;
    }
    this.at = at;
    return false;
  }

  /** Skips the fixed beginning of the next part, and sets `#rest` to the bytes that follow it. */
  #skipHeader(level: Level, bytes: Buffer, at: number, end: number): number {
    const part = level.layout[level.index];
    if (part === undefined) throw new Error("the layout has no such part");
    switch (part.kind) {
      case "string": {
        const next = this.#lengths.readString(bytes, at, end);
        if (next === MISSING) return MISSING;
        this.#rest = this.#lengths.length;
        level.index++;
        return next;
      }
      case "bytes":
        this.#rest = part.count;
        level.index++;
        return at;
      case "length": {
        const next = this.#lengths.readPlain(bytes, at, end);
        if (next !== MISSING) level.index++;
        return next;
      }
      case "repeat": {
        const next = this.#lengths.readPlain(bytes, at, end);
        if (next === MISSING) return MISSING;
        level.index++;
        if (this.#lengths.length > 0) this.#push(part.parts, this.#lengths.length - 1);
        return next;
      }
      case "score": {
        if (at >= end) return MISSING;
        const size = bytes[at] ?? 0;
        this.#rest = size >= SCORE_WITHOUT_TEXT ? 0 : size;
        level.index++;
        return at + 1;
      }
      case "module":
        return this.#skipModule(level, bytes, at, end);
    }
  }

  #skipModule(level: Level, bytes: Buffer, at: number, end: number): number {
    const next = this.#lengths.readPlain(bytes, at, end);
    if (next === MISSING) return MISSING;
    switch (this.#lengths.length) {
      case MODULE.end:
        level.index++;
        return next;
      case MODULE.signed:
      case MODULE.unsigned:
        return this.#lengths.readPlain(bytes, next, end);
      case MODULE.float:
        this.#rest = 4;
        return next;
      case MODULE.double:
        this.#rest = 8;
        return next;
      case MODULE.string: {
        const after = this.#lengths.readString(bytes, next, end);
        if (after !== MISSING) this.#rest = this.#lengths.length;
        return after;
      }
      default:
        throw new RdbCorrupt(`unknown opcode ${this.#lengths.length} in the data of a module`);
    }
  }

  #push(layout: Layout, remaining: number): void {
    this.#depth++;
    const level = this.#levels[this.#depth];
    if (level === undefined) this.#levels.push({ layout, index: 0, remaining });
    else {
      level.layout = layout;
      level.index = 0;
      level.remaining = remaining;
    }
  }
}
