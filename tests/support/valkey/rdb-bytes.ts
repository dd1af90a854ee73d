/** RDB files made by hand, for what the servers of tests do not write: old versions, old encodings, damage. */
import { Crc64 } from "../../../backup/rdb/crc64";
import { encodeLength, encodeString } from "../../../backup/rdb/lengths";
import { OPCODE } from "../../../backup/rdb/rdb-format";

export const text = (value: string): Buffer => encodeString(Buffer.from(value));
export const bytes = (...values: number[]): Buffer => Buffer.from(values);
export const length = encodeLength;

export function eight(value: number | bigint): Buffer {
  const result = Buffer.alloc(8);
  result.writeBigInt64LE(BigInt(value));
  return result;
}

export const entry = (type: number, key: string, value: Buffer): Buffer =>
  Buffer.concat([bytes(type), text(key), value]);

export function rdbFile(header: string, ...records: readonly Buffer[]): Buffer {
  const content = Buffer.concat([Buffer.from(header), ...records, bytes(OPCODE.end)]);
  const crc = new Crc64();
  crc.update(content);
  return Number(header.slice(-3)) < 5 ? content : Buffer.concat([content, crc.digest()]);
}

/** A listpack of short strings and of numbers up to 127. */
export function listpack(...elements: readonly (string | number)[]): Buffer {
  const encoded = elements.map((element) => {
    const head =
      typeof element === "number"
        ? bytes(element)
        : Buffer.concat([bytes(0x80 | element.length), Buffer.from(element)]);
    return Buffer.concat([head, bytes(head.length)]);
  });
  const body = Buffer.concat([...encoded, bytes(255)]);
  const head = Buffer.alloc(6);
  head.writeUInt32LE(body.length + 6, 0);
  head.writeUInt16LE(elements.length, 4);
  return Buffer.concat([head, body]);
}

/** A ziplist whose elements are already encoded, without the length of the element before. */
export function ziplist(...elements: readonly Buffer[]): Buffer {
  let before = 0;
  const encoded = elements.map((element) => {
    const result = Buffer.concat([bytes(before), element]);
    before = result.length;
    return result;
  });
  const body = Buffer.concat([...encoded, bytes(255)]);
  const head = Buffer.alloc(10);
  head.writeUInt32LE(body.length + 10, 0);
  head.writeUInt16LE(elements.length, 8);
  return Buffer.concat([head, body]);
}
