/**
 * CRC-64 with the polynomial 0xad93d23594c935a9, reflected, without inversion. JavaScript has no fast 64-bit integers,
 * so the checksum is computed as two halves of 32 bits, eight bytes at a time.
 */

const POLYNOMIAL_LOW = 0xac4bc9b5;
const POLYNOMIAL_HIGH = 0x95ac9329;
/** Tables for slicing by eight: table 0 advances by one byte, table 7 by eight bytes. */
const LOW = new Int32Array(8 * 256);
const HIGH = new Int32Array(8 * 256);

for (let byte = 0; byte < 256; byte++) {
  let low = byte;
  let high = 0;
  for (let bit = 0; bit < 8; bit++) {
    const isOdd = (low & 1) === 1;
    low = (low >>> 1) | (high << 31);
    high >>>= 1;
    if (isOdd) {
      low ^= POLYNOMIAL_LOW;
      high ^= POLYNOMIAL_HIGH;
    }
  }
  LOW[byte] = low;
  HIGH[byte] = high;
}
for (let index = 256; index < 8 * 256; index++) {
  const low = LOW[index - 256] ?? 0;
  const high = HIGH[index - 256] ?? 0;
  LOW[index] = ((low >>> 8) | (high << 24)) ^ (LOW[low & 255] ?? 0);
  HIGH[index] = (high >>> 8) ^ (HIGH[low & 255] ?? 0);
}

export class Crc64 {
  #low = 0;
  #high = 0;

  /** Adds the bytes from index `from` up to index `to`, without the byte at `to`. */
  update(bytes: Uint8Array, from = 0, to = bytes.length): void {
    let low = this.#low;
    let high = this.#high;
    let at = from;
    for (const last = to - 8; at <= last; at += 8) {
      const a = low ^ word(bytes, at);
      const b = high ^ word(bytes, at + 4);
      const [i0, i1, i2, i3] = [
        1792 + (a & 255),
        1536 + ((a >>> 8) & 255),
        1280 + ((a >>> 16) & 255),
        1024 + (a >>> 24),
      ];
      const [i4, i5, i6, i7] = [768 + (b & 255), 512 + ((b >>> 8) & 255), 256 + ((b >>> 16) & 255), b >>> 24];
      low = combined(LOW, i0, i1, i2, i3) ^ combined(LOW, i4, i5, i6, i7);
      high = combined(HIGH, i0, i1, i2, i3) ^ combined(HIGH, i4, i5, i6, i7);
    }
    for (; at < to; at++) {
      const index = (low ^ (bytes[at] ?? 0)) & 255;
      low = ((low >>> 8) | (high << 24)) ^ (LOW[index] ?? 0);
      high = (high >>> 8) ^ (HIGH[index] ?? 0);
    }
    this.#low = low;
    this.#high = high;
  }

  /** The checksum as the eight bytes that end an RDB file. */
  digest(): Buffer {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeInt32LE(this.#low, 0);
    bytes.writeInt32LE(this.#high, 4);
    return bytes;
  }
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function combined(table: Int32Array, a: number, b: number, c: number, d: number): number {
  return (table[a] ?? 0) ^ (table[b] ?? 0) ^ (table[c] ?? 0) ^ (table[d] ?? 0);
}
