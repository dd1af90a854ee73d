/** Names of the keys that valkey-benchmark uses, in cluster mode and in replication mode. Pure. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

/**
 * Infixes of the keys of one primary. An infix is the text between the beginning of a key's name (such as `key`) and
 * its number. In a cluster, the infixes are hash tags such as `:{06S}`, one for each slot. In replication mode, the
 * only infix is the empty text. A tag with two letters has two closing braces, because valkey-benchmark fills a field
 * of three characters.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/**
 * Number of keys with each infix. In a cluster there is an infix for each slot, and in replication mode there is a
 * single infix.
 */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number with twelve digits. valkey-benchmark writes numbers in this form into keys. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

/** Name of a member of a sorted set. The prefill uses these names. */
export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
