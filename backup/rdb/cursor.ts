import { LengthReader, MISSING, ENCODING } from "./lengths";
import { RdbCorrupt } from "./rdb-corrupt";

/** A control byte below this value says how many bytes to copy; all others refer to earlier output. */
const LITERALS = 32;
/** Highest length that a control byte can contain. With this length, the next byte contains the rest of the length. */
const LONG_LENGTH = 7;

const damagedLzf = (): RdbCorrupt => new RdbCorrupt("a compressed string is damaged");

const truncated = (): RdbCorrupt => new RdbCorrupt("a value ends too early");

export class RdbCursor {
  readonly #lengths = new LengthReader();

  constructor(
    readonly buffer: Buffer,
    public at = 0,
    readonly end = buffer.length,
  ) {}

  /** @throws RdbCorrupt for a number that the rest of the value cannot contain */
  count(): number {
    this.#advance(this.#lengths.readPlain(this.buffer, this.at, this.end));
    if (this.#lengths.length > this.end - this.at) throw truncated();
    return this.#lengths.length;
  }

  number(): bigint {
    const start = this.at;
    this.#advance(this.#lengths.readPlain(this.buffer, start, this.end));
    // Above 2^53, the number is read again, with all its digits.
    return this.#lengths.length > Number.MAX_SAFE_INTEGER
      ? this.buffer.readBigUInt64BE(start + 1)
      : BigInt(this.#lengths.length);
  }

  bytes(count: number): Buffer {
    const from = this.at;
    if (count > this.end - from) throw truncated();
    this.at += count;
    return this.buffer.subarray(from, this.at);
  }

  string(): Buffer {
    this.#advance(this.#lengths.read(this.buffer, this.at, this.end));
    const { length, isEncoded } = this.#lengths;
    if (!isEncoded) return this.bytes(length);
    switch (length) {
      case ENCODING.int8:
        return Buffer.from(String(this.bytes(1).readInt8()));
      case ENCODING.int16:
        return Buffer.from(String(this.bytes(2).readInt16LE()));
      case ENCODING.int32:
        return Buffer.from(String(this.bytes(4).readInt32LE()));
      case ENCODING.lzf: {
        const compressed = this.count();
        const size = Number(this.number());
        return decompressLzf(this.bytes(compressed), size);
      }
      default:
        throw new RdbCorrupt(`unknown encoding ${length} of a string`);
    }
  }

  time(): number {
    return Number(this.bytes(8).readBigInt64LE());
  }

  double(): number {
    return this.bytes(8).readDoubleLE();
  }

  score(): number {
    const size = this.bytes(1)[0] ?? 0;
    if (size === 255) return -Infinity;
    if (size === 254) return Infinity;
    if (size === 253) return Number.NaN;
    return parseScore(this.bytes(size));
  }

  #advance(next: number): void {
    if (next === MISSING) throw truncated();
    this.at = next;
  }
}

export function parseScore(text: Buffer): number {
  const word = text.toString("latin1");
  if (/^[+-]?inf(inity)?$/i.test(word)) return word.startsWith("-") ? -Infinity : Infinity;
  const score = word.trim() === "" ? Number.NaN : Number(word);
  if (Number.isNaN(score)) throw new RdbCorrupt("a score is not a number");
  return score;
}

/** @param length number of bytes after decompression */
export function decompressLzf(input: Buffer, length: number): Buffer {
  // The longest reference, three bytes, gives 264 bytes. A larger length is damage, and must not allocate memory.
  if (length > input.length * 264) throw new RdbCorrupt("a compressed string is longer than its content can be");
  const output = Buffer.alloc(length);
  let from = 0;
  let to = 0;
  while (from < input.length) {
    const control = byteIn(input, from++);
    if (control < LITERALS) {
      const count = control + 1;
      if (from + count > input.length || to + count > length) throw damagedLzf();
      input.copy(output, to, from, from + count);
      from += count;
      to += count;
      continue;
    }
    let count = (control >> 5) + 2;
    if (count === LONG_LENGTH + 2) count += byteIn(input, from++);
    let source = to - ((control & 31) << 8) - byteIn(input, from++) - 1;
    if (source < 0 || to + count > length) throw damagedLzf();
    // The source may overlap the target, so the bytes are copied one by one.
    for (; count > 0; count--) output[to++] = output[source++] ?? 0;
  }
  if (to !== length) throw damagedLzf();
  return output;
}

function byteIn(input: Buffer, index: number): number {
  const byte = input[index];
  if (byte === undefined) throw damagedLzf();
  return byte;
}
