/** The keys that valkey-benchmark draws, in both modes. Pure. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

/**
 * Texts after the family in the names of a primary's keys: `:{06S}` and similar for its slots, and an empty string in
 * replication mode. A tag with two letters has two closing braces, because valkey-benchmark fills a field of three
 * characters.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/** Number of keys with each infix. */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number in the form in which valkey-benchmark writes it into a key: with twelve digits. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

/** A member of a sorted set, with the name that the prefill gives it. */
export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
