/** A length has one to nine bytes. Strings that are compressed or encoded as numbers begin with a special length. */
import { RdbCorrupt } from "./rdb-corrupt";

export const ENCODING = { int8: 0, int16: 1, int32: 2, lzf: 3 } as const;

export const MISSING = -1;

/** The results are fields instead of return values, because a walk reads millions of lengths in a second. */
export class LengthReader {
  /** A length above 2^53 loses its last digits. */
  length = 0;
  isEncoded = false;

  /** @returns the position after it; `MISSING` if it is cut off. @throws RdbCorrupt for a wrong first byte */
  read(bytes: Buffer, at: number, end: number): number {
    if (at >= end) return MISSING;
    const first = bytes[at] ?? 0;
    this.isEncoded = false;
    switch (first >> 6) {
      case 0:
        this.length = first & 63;
        return at + 1;
      case 1:
        if (at + 2 > end) return MISSING;
        this.length = ((first & 63) << 8) | (bytes[at + 1] ?? 0);
        return at + 2;
      case 2:
        return this.#readLong(bytes, at, end, first);
      default:
        this.isEncoded = true;
        this.length = first & 63;
        return at + 1;
    }
  }

  /** Then `length` is the number of bytes that follow. @returns the position after the header, or `MISSING` */
  readString(bytes: Buffer, at: number, end: number): number {
    const next = this.read(bytes, at, end);
    if (next === MISSING || !this.isEncoded) return next;
    switch (this.length) {
      case ENCODING.int8:
        this.length = 1;
        return next;
      case ENCODING.int16:
        this.length = 2;
        return next;
      case ENCODING.int32:
        this.length = 4;
        return next;
      case ENCODING.lzf: {
        const afterCompressed = this.readPlain(bytes, next, end);
        const compressed = this.length;
        const after = afterCompressed === MISSING ? MISSING : this.readPlain(bytes, afterCompressed, end);
        this.length = compressed;
        return after;
      }
      default:
        throw new RdbCorrupt(`unknown encoding ${this.length} of a string`);
    }
  }

  readPlain(bytes: Buffer, at: number, end: number): number {
    const next = this.read(bytes, at, end);
    if (next !== MISSING && this.isEncoded) throw new RdbCorrupt("a length is missing where a number of items belongs");
    return next;
  }

  #readLong(bytes: Buffer, at: number, end: number, first: number): number {
    const size = first === 0x80 ? 4 : 8;
    if (first !== 0x80 && first !== 0x81) throw new RdbCorrupt(`unknown encoding ${first} of a length`);
    if (at + 1 + size > end) return MISSING;
    this.length =
      size === 4 ? bytes.readUInt32BE(at + 1) : bytes.readUInt32BE(at + 1) * 2 ** 32 + bytes.readUInt32BE(at + 5);
    return at + 1 + size;
  }
}

export function encodeLength(length: number): Buffer {
  if (length < 1 << 6) return Buffer.from([length]);
  if (length < 1 << 14) return Buffer.from([0x40 | (length >> 8), length & 255]);
  if (length < 2 ** 32) {
    const bytes = Buffer.from([0x80, 0, 0, 0, 0]);
    bytes.writeUInt32BE(length, 1);
    return bytes;
  }
  const bytes = Buffer.from([0x81, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

/** Encodes a string for an RDB file, neither compressed nor as a number. */
export const encodeString = (value: Buffer): Buffer => Buffer.concat([encodeLength(value.length), value]);
