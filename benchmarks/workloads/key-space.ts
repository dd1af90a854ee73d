/** The exact keys valkey-benchmark draws from, in either mode. Pure. */
import calculateSlot from "cluster-key-slot";
import { SLOT_COUNT } from "../topology/slots";
import type { SlotRange } from "../topology/slots";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

let tags: readonly string[] | undefined;

/**
 * A hash tag for every slot, by slot: the first of the shortest alphanumeric strings that hash into it,
 * digits before small before capital letters. That is the table valkey-benchmark has built in
 * (`crc16_slot_table`), so these are the tags its keys carry.
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

/**
 * What follows a family's name in the keys of a primary: `:{06S}` and so on for its slots, nothing in
 * replication mode. A two-letter tag is followed by two braces, as valkey-benchmark fills a field of three.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/** `0-5460 5462-5462` */
export function formatSlots(slots: readonly SlotRange[]): string {
  return slots.map(({ from, to }) => `${from}-${to}`).join(" ");
}

/** How many numbered keys there are behind each infix. */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number as valkey-benchmark writes it into a key: twelve digits. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

/** Members of sorted sets, as they are prefilled. */
export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
