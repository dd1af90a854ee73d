import { createHash } from "node:crypto";

/** Checksum of a text, 32 hexadecimal digits. */
export function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
