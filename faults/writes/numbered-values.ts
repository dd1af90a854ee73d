/**
 * Values for writes. Each value contains the number of its write and a checksum, so that a reader can tell which write
 * wrote the value of a key. Pure.
 */
import { createHash } from "node:crypto";

/** The value of a write: number, length and checksum, padded to `bytes` characters if the text is shorter. */
export function numberedValue(key: string, number: number, bytes: number): string {
  // In the shortest value, the length has two digits.
  const length = Math.max(bytes, `${number}:00:`.length + CHECKSUM + 1);
  return `${number}:${length}:${checksum(key, number)}:`.padEnd(length, "x");
}

/** The number of the write that wrote a value; undefined if the value is damaged or belongs to a different key. */
export function writeNumberOf(key: string, value: string): number | undefined {
  const match = /^(\d{1,15}):(\d{1,9}):([0-9a-f]{8}):x*$/.exec(value);
  const number = Number(match?.[1]);
  return match !== null && Number(match[2]) === value.length && match[3] === checksum(key, number) ? number : undefined;
}

/** Length of the checksum, characters. */
const CHECKSUM = 8;

function checksum(key: string, number: number): string {
  return createHash("sha256").update(`${key} ${number}`).digest("hex").slice(0, CHECKSUM);
}
