import { SLOT_COUNT, type SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

/**
 * Text between a name such as `key` and its number: in a cluster hash tags such as `:{06S}`, one for each slot;
 * otherwise empty. A tag with two letters has two closing braces, because valkey-benchmark fills three characters.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/** In a cluster there is an infix for each slot, in replication mode a single one. */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number with twelve digits. valkey-benchmark writes numbers in this form into keys. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
