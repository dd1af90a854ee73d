/**
 * Checks whether all keys fit in memory after a resize. A scale-in after which they would not fit is refused before it
 * moves a slot. Pure.
 */
import { formatBytes } from "../../lib/units";
import { countSlots } from "../topology/slots";
import type { CurrentNode } from "./resize-roles";
import type { SlotTransfer } from "./slot-transfers";

/** Memory of a node. */
export interface NodeMemory {
  /** Memory of the node's keys, bytes. */
  readonly keyBytes: number;
  /** Memory that the node uses, bytes. */
  readonly usedMemory: number;
  /** Value of maxmemory, bytes; 0 means no limit. */
  readonly maxmemory: number;
}

/**
 * Reasons against the plan. Each reason is a primary that would exceed its maxmemory, and would therefore refuse writes
 * or evict keys.
 */
export function memoryReasons(
  nodes: readonly (NodeMemory & Pick<CurrentNode, "name" | "slots">)[],
  successorOf: ReadonlyMap<string, string>,
  transfers: readonly SlotTransfer[],
): string[] {
  const owners = nodes.filter(({ slots }) => slots.length > 0);
  const bytesPerSlot = new Map(
    owners.map(({ name, keyBytes, slots }) => [successorOf.get(name) ?? name, keyBytes / countSlots(slots)]),
  );
  const bytesOf = ({ from, ranges }: SlotTransfer): number => (bytesPerSlot.get(from) ?? 0) * countSlots(ranges);
  return nodes.flatMap(({ name, usedMemory, maxmemory }) => {
    const incoming = transfers.filter(({ to }) => to === name).reduce((sum, transfer) => sum + bytesOf(transfer), 0);
    const needed = usedMemory + incoming;
    if (maxmemory === 0 || incoming === 0 || needed <= maxmemory) return [];
    const parts = `${formatBytes(needed)} (${formatBytes(incoming)} of it from migrated slots)`;
    return [`${name} would hold ${parts}, more than its maxmemory of ${formatBytes(maxmemory)}`];
  });
}
