/** Decompression of LZF, the compression of strings in RDB files. Pure. */
import { RdbCorrupt } from "./rdb-corrupt";

/**
 * A control byte below this value says how many bytes to copy from the input. All other control bytes refer to earlier
 * output.
 */
const LITERALS = 32;
/** Highest length that a control byte can contain. With this length, the next byte contains the rest of the length. */
const LONG = 7;

/**
 * Decompresses a string.
 * @param length number of bytes after decompression
 * @throws RdbCorrupt if the input does not give this number of bytes
 */
export function decompressLzf(input: Buffer, length: number): Buffer {
  // The longest reference, three bytes, gives 264 bytes. A larger length is damage, and must not allocate memory.
  if (length > input.length * 264) throw new RdbCorrupt("a compressed string is longer than its content can be");
  const output = Buffer.alloc(length);
  let from = 0;
  let to = 0;
  while (from < input.length) {
    const control = byteAt(input, from++);
    if (control < LITERALS) {
      const count = control + 1;
      if (from + count > input.length || to + count > length) throw damaged();
      input.copy(output, to, from, from + count);
      from += count;
      to += count;
      continue;
    }
    let count = (control >> 5) + 2;
    if (count === LONG + 2) count += byteAt(input, from++);
    let source = to - ((control & 31) << 8) - byteAt(input, from++) - 1;
    if (source < 0 || to + count > length) throw damaged();
    // The source may overlap the target, so the bytes are copied one by one.
    for (; count > 0; count--) output[to++] = output[source++] ?? 0;
  }
  if (to !== length) throw damaged();
  return output;
}

function byteAt(input: Buffer, index: number): number {
  const byte = input[index];
  if (byte === undefined) throw damaged();
  return byte;
}

const damaged = (): RdbCorrupt => new RdbCorrupt("a compressed string is damaged");
