/** The exact keys valkey-benchmark draws from, in either mode. Pure. */
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { SlotRange } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";

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
