/** Keys with the hash tag of a slot are in this slot. */
import calculateSlot from "cluster-key-slot";
import { SLOT_COUNT } from "./slots";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

let tags: readonly string[] | undefined;

/**
 * The shortest alphanumeric strings, digits first, then small letters. valkey-benchmark has the same table
 * (`crc16_slot_table`), so its keys have these hash tags.
 */
export function slotTags(): readonly string[] {
  tags ??= computeTags();
  return tags;
}

function computeTags(): string[] {
  const found = new Array<string | undefined>(SLOT_COUNT).fill(undefined);
  let missing = SLOT_COUNT;
  let words = [""];
  while (missing > 0) {
    words = words.flatMap((word) => Array.from(ALPHABET, (letter) => word + letter));
    for (const word of words) {
      const slot = calculateSlot(word);
      if (found[slot] !== undefined) continue;
      found[slot] = word;
      missing--;
    }
  }
  return found.map((word) => word ?? "");
}
