/** The keys that valkey-benchmark draws from, in either mode. Pure. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

/**
 * Text after the family in the names of a primary's keys: `:{06S}` and so on for its slots, an empty string in
 * replication mode. A tag of two letters has two closing braces, because valkey-benchmark fills a field of three.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/** Number of keys behind each infix. */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number as valkey-benchmark writes it into a key: with twelve digits. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

/** A member of a sorted set, as the prefill names it. */
export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
