/** Digests of the keys of each slot. */
import type { SlotRange } from "../../topology/slots";
import { SLOT_COUNT } from "../../topology/slots";

const DIGEST_BYTES = 32;

export class SlotDigests {
  /** Number of keys of each slot, without expired keys. */
  readonly keys = new Float64Array(SLOT_COUNT);
  /** Number of expired keys of each slot. */
  readonly expired = new Float64Array(SLOT_COUNT);
  readonly #sums = Buffer.alloc(SLOT_COUNT * DIGEST_BYTES);

  /**
   * Adds the digest of a key. Digests are added as numbers of 256 bits, so that the order of keys does not matter and
   * equal keys do not cancel out.
   */
  add(slot: number, digest: Buffer): void {
    this.keys[slot] = (this.keys[slot] ?? 0) + 1;
    const at = slot * DIGEST_BYTES;
    let carry = 0;
    for (let index = 0; index < DIGEST_BYTES; index += 4) {
      const total = this.#sums.readUInt32LE(at + index) + digest.readUInt32LE(index) + carry;
      carry = total >= 2 ** 32 ? 1 : 0;
      this.#sums.writeUInt32LE(total >>> 0, at + index);
    }
  }

  /** Whether a slot has the same keys here and in `other`, with the same TTLs and values. */
  hasSame(other: SlotDigests, slot: number): boolean {
    return this.keys[slot] === other.keys[slot] && this.#sumOf(slot).equals(other.#sumOf(slot));
  }

  /** Adds up a number of each slot (`keys` or `expired`) over all slots of the ranges. */
  count(numbers: Float64Array, ranges: readonly SlotRange[]): number {
    let sum = 0;
    for (const { from, to } of ranges) for (let slot = from; slot <= to; slot++) sum += numbers[slot] ?? 0;
    return sum;
  }

  #sumOf(slot: number): Buffer {
    return this.#sums.subarray(slot * DIGEST_BYTES, (slot + 1) * DIGEST_BYTES);
  }
}
