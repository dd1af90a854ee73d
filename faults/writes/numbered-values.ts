/** Values that say which write of their key they are, and whether they are whole. Pure. */
import { createHash } from "node:crypto";

/** The value of a key's write of that number, of so many bytes (at least what number, length and checksum take). */
export function numberedValue(key: string, number: number, bytes: number): string {
  // Two digits hold the length of the shortest.
  const length = Math.max(bytes, `${number}:00:`.length + CHECKSUM + 1);
  return `${number}:${length}:${checksum(key, number)}:`.padEnd(length, "x");
}

/** The number of the write that a value is of; undefined when it is no such value, of another key, or damaged. */
export function writeNumberOf(key: string, value: string): number | undefined {
  const match = /^(\d{1,15}):(\d{1,9}):([0-9a-f]{8}):x*$/.exec(value);
  const number = Number(match?.[1]);
  return match !== null && Number(match[2]) === value.length && match[3] === checksum(key, number) ? number : undefined;
}

/** Characters. */
const CHECKSUM = 8;

function checksum(key: string, number: number): string {
  return createHash("sha256").update(`${key} ${number}`).digest("hex").slice(0, CHECKSUM);
}
