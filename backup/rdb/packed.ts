/** Reads listpack, ziplist, intset and zipmap. Elements encoded as numbers become text, as clients see them. */
import { RdbCorrupt } from "./rdb-corrupt";

const END = 255;

export function readListpack(bytes: Buffer): Buffer[] {
  const damaged = (): RdbCorrupt => new RdbCorrupt("a listpack is damaged");
  if (bytes.length < 7 || bytes.readUInt32LE(0) !== bytes.length || bytes[bytes.length - 1] !== END) throw damaged();
  const end = bytes.length - 1;
  const elements: Buffer[] = [];
  let at = 6;
  while (at < end) {
    const first = bytes[at] ?? 0;
    let size: number;
    if (first < 0x80) {
      size = 1;
      elements.push(text(first));
    } else if (first < 0xc0) {
      size = 1 + (first & 0x3f);
      elements.push(bytes.subarray(at + 1, at + size));
    } else {
      // Reads below may touch bytes after the element, up to nine of them.
      if (at + headerOf(first) > end) throw damaged();
      if (first < 0xe0) {
        size = 2;
        const value = ((first & 0x1f) << 8) | (bytes[at + 1] ?? 0);
        elements.push(text(value >= 1 << 12 ? value - (1 << 13) : value));
      } else if (first < 0xf0) {
        size = 2 + (((first & 0xf) << 8) | (bytes[at + 1] ?? 0));
        elements.push(bytes.subarray(at + 2, at + size));
      } else if (first === 0xf0) {
        size = 5 + bytes.readUInt32LE(at + 1);
        elements.push(bytes.subarray(at + 5, at + size));
      } else {
        const width = INTEGER_BYTES[first - 0xf1];
        if (width === undefined) throw damaged();
        size = 1 + width;
        elements.push(integer(bytes, at + 1, width));
      }
    }
    at += size + backlengthBytes(size);
    if (at > end) throw damaged();
  }
  const count = bytes.readUInt16LE(4);
  if (count !== UNKNOWN_COUNT && count !== elements.length) throw damaged();
  return elements;
}

/** Numbers of bytes of the integers in a listpack that begin with 0xf1, 0xf2, 0xf3 and 0xf4. */
const INTEGER_BYTES = [2, 3, 4, 8];
/** Number of elements that the header of a listpack or ziplist has if the real number is too large for the header. */
const UNKNOWN_COUNT = 65535;

/** Number of bytes at the beginning of a listpack's element that contain its length or its integer. */
function headerOf(first: number): number {
  if (first < 0xf0) return 2;
  return first === 0xf0 ? 5 : 1 + (INTEGER_BYTES[first - 0xf1] ?? 0);
}

/** Number of bytes after an element of a listpack that repeat the size of the element. */
function backlengthBytes(size: number): number {
  if (size <= 127) return 1;
  if (size < 16383) return 2;
  if (size < 2097151) return 3;
  return size < 268435455 ? 4 : 5;
}

export function readZiplist(bytes: Buffer): Buffer[] {
  const damaged = (): RdbCorrupt => new RdbCorrupt("a ziplist is damaged");
  if (bytes.length < 11 || bytes.readUInt32LE(0) !== bytes.length || bytes[bytes.length - 1] !== END) throw damaged();
  const end = bytes.length - 1;
  const elements: Buffer[] = [];
  let at = 10;
  while (at < end) {
    at += bytes[at] === 254 ? 5 : 1;
    if (at >= end) throw damaged();
    const first = bytes[at] ?? 0;
    if (first < 0xc0) {
      const header = [1, 2, 5][first >> 6] ?? 1;
      if (at + header > end) throw damaged();
      let size = first & 0x3f;
      if (header === 2) size = (size << 8) | (bytes[at + 1] ?? 0);
      if (header === 5) size = bytes.readUInt32BE(at + 1);
      elements.push(bytes.subarray(at + header, at + header + size));
      at += header + size;
    } else if (first >= 0xf1 && first <= 0xfd) {
      elements.push(text((first & 0xf) - 1));
      at += 1;
    } else {
      const width = ZIPLIST_INTEGER_BYTES.get(first);
      if (width === undefined || at + 1 + width > end) throw damaged();
      elements.push(integer(bytes, at + 1, width));
      at += 1 + width;
    }
    if (at > end) throw damaged();
  }
  const count = bytes.readUInt16LE(8);
  if (count !== UNKNOWN_COUNT && count !== elements.length) throw damaged();
  return elements;
}

const ZIPLIST_INTEGER_BYTES: ReadonlyMap<number, number> = new Map([
  [0xc0, 2],
  [0xd0, 4],
  [0xe0, 8],
  [0xf0, 3],
  [0xfe, 1],
]);

export function readIntset(bytes: Buffer): Buffer[] {
  const width = bytes.length < 8 ? 0 : bytes.readUInt32LE(0);
  const count = bytes.length < 8 ? 0 : bytes.readUInt32LE(4);
  if (![2, 4, 8].includes(width) || bytes.length !== 8 + width * count) throw new RdbCorrupt("an intset is damaged");
  return Array.from({ length: count }, (_, index) => integer(bytes, 8 + index * width, width));
}

export function readZipmap(bytes: Buffer): Buffer[] {
  const damaged = (): RdbCorrupt => new RdbCorrupt("a zipmap is damaged");
  const elements: Buffer[] = [];
  let at = 1;
  while (bytes[at] !== END) {
    let size = bytes[at] ?? 0;
    const isLong = size === 254;
    if (at + (isLong ? 5 : 1) >= bytes.length) throw damaged();
    if (isLong) size = bytes.readUInt32LE(at + 1);
    at += isLong ? 5 : 1;
    // After the length of a value comes the number of unused bytes that follow the value.
    const unused = elements.length % 2 === 1 ? (bytes[at++] ?? 0) : 0;
    if (at + size + unused >= bytes.length) throw damaged();
    elements.push(bytes.subarray(at, at + size));
    at += size + unused;
  }
  if (at !== bytes.length - 1 || elements.length % 2 === 1) throw damaged();
  return elements;
}

function integer(bytes: Buffer, at: number, width: number): Buffer {
  return Buffer.from(String(width === 8 ? bytes.readBigInt64LE(at) : bytes.readIntLE(at, width)));
}

const text = (value: number): Buffer => Buffer.from(String(value));
