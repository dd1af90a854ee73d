/** The plan of a resize: what is done, in which order, to give a cluster that serves another shape. Pure. */
import { formatBytes } from "../../lib/units";
import type { Shape } from "../topology/placement";
import type { CurrentNode, DesiredShard } from "./resize-roles";
import { desiredShards } from "./resize-roles";
import type { SlotTransfer } from "./slot-transfers";
import { planTransfers } from "./slot-transfers";
import { countSlots } from "../topology/slots";

/** A node as a resize finds it. */
export interface ResizeNode extends CurrentNode {
  /** Whether it and some other node know each other: a leaving node is done with when not, a staying one has to be introduced. */
  readonly met: boolean;
  /** Bytes its keys take, all told. */
  readonly keyBytes: number;
  /** Bytes. */
  readonly usedMemory: number;
  /** Bytes; 0 is no limit. */
  readonly maxmemory: number;
}

/** A replica-to-be and its primary, by node name. */
export interface ReplicaAssignment {
  readonly node: string;
  readonly primary: string;
}

/**
 * Commands by node name, one list after the other, each awaited before the next begins. At no point is a slot
 * without a primary, nor, where replicas are wanted, a primary given slots before it has those that can be had.
 */
export interface ResizePlan {
  /** New nodes, introduced to all others. */
  readonly meet: readonly string[];
  /** Replicas that take over from their primary in an orderly way: it leaves, or zones are better that way. */
  readonly failOver: readonly { readonly from: string; readonly to: string }[];
  /** Nodes without slots that become replicas. */
  readonly attach: readonly ReplicaAssignment[];
  /** Replicas that become primaries without slots or keys. */
  readonly promote: readonly string[];
  /** Replicas that change their primary before slots move. */
  readonly reattach: readonly ReplicaAssignment[];
  readonly migrate: readonly SlotTransfer[];
  /** Nodes of shards that slots moved away from, which become replicas of others. */
  readonly reassign: readonly ReplicaAssignment[];
  /** Nodes that leave: without slots by now, forgotten by all others, and made to forget them. */
  readonly forget: readonly string[];
}

export type ResizeDecision =
  /** It has the wanted shape, even and zone-safe. */
  | { readonly kind: "fits" }
  | { readonly kind: "resize"; readonly plan: ResizePlan }
  | { readonly kind: "refused"; readonly reasons: readonly string[] };

/**
 * Compares a cluster that serves all slots with the wanted shape. Made anew after any part of a plan was carried
 * out, it plans the rest.
 * @param nodes staying and leaving ones; of the former as many as the shape needs, over zones that allow it
 */
export function planResize(nodes: readonly ResizeNode[], shape: Shape): ResizeDecision {
  const shards = desiredShards(nodes, shape);
  const owners = nodes.filter(({ slots }) => slots.length > 0);
  // Slots stay with their shard whoever leads it: transfers are reckoned between the leaders to be.
  const leaderOf = new Map(
    shards.flatMap(({ primary, previousPrimary }) =>
      previousPrimary === undefined ? [] : [[previousPrimary, primary]],
    ),
  );
  const move = planTransfers(
    owners.map(({ name, slots }) => ({ name: leaderOf.get(name) ?? name, slots })),
    shards.map(({ primary }) => primary),
  );
  const plan = { ...planRoles(nodes, shards), migrate: move };
  if (Object.values(plan).every((list) => list.length === 0)) return { kind: "fits" };
  const reasons = memoryReasons(nodes, leaderOf, move);
  return reasons.length > 0 ? { kind: "refused", reasons } : { kind: "resize", plan };
}

function planRoles(nodes: readonly ResizeNode[], shards: readonly DesiredShard[]): Omit<ResizePlan, "migrate"> {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const handOver = shards.flatMap(({ primary, previousPrimary }) =>
    previousPrimary === undefined || previousPrimary === primary ? [] : [{ from: previousPrimary, to: primary }],
  );
  const successor = new Map(handOver.map(({ from, to }) => [from, to]));
  const leaders = new Set(shards.map(({ primary }) => primary));
  const release = shards.flatMap(({ primary, previousPrimary }) =>
    previousPrimary === undefined && byName.get(primary)?.primary !== undefined ? [primary] : [],
  );
  const dissolved = new Set(
    nodes
      .filter(({ name, slots }) => slots.length > 0 && !leaders.has(name) && !successor.has(name))
      .map(({ name }) => name),
  );

  const lists = {
    attach: [] as ReplicaAssignment[],
    reattach: [] as ReplicaAssignment[],
    reassign: [] as ReplicaAssignment[],
  };
  for (const { primary, replicas } of shards) {
    for (const name of replicas) {
      const node = byName.get(name);
      const followed = successor.get(name) ?? successor.get(node?.primary ?? "") ?? node?.primary;
      if (node === undefined || followed === primary) continue;
      if (dissolved.has(name) || dissolved.has(node.primary ?? "")) lists.reassign.push({ node: name, primary });
      else if (node.primary === undefined && !successor.has(name) && !release.includes(primary))
        lists.attach.push({ node: name, primary });
      else lists.reattach.push({ node: name, primary });
    }
  }
  return {
    meet: nodes.filter(({ leaving, met }) => !leaving && !met).map(({ name }) => name),
    failOver: handOver,
    promote: release,
    ...lists,
    forget: nodes.filter(({ leaving, met }) => leaving && met).map(({ name }) => name),
  };
}

/** Primaries that would have to hold more than they may: they would refuse writes, or evict keys. */
function memoryReasons(
  nodes: readonly ResizeNode[],
  leaderOf: ReadonlyMap<string, string>,
  move: readonly SlotTransfer[],
): string[] {
  const perSlot = new Map(
    nodes
      .filter(({ slots }) => slots.length > 0)
      .map(({ name, keyBytes, slots }) => [leaderOf.get(name) ?? name, keyBytes / countSlots(slots)]),
  );
  return nodes.flatMap(({ name, usedMemory, maxmemory }) => {
    const incoming = move
      .filter(({ to }) => to === name)
      .reduce((sum, { from, ranges }) => sum + (perSlot.get(from) ?? 0) * countSlots(ranges), 0);
    if (maxmemory === 0 || incoming === 0 || usedMemory + incoming <= maxmemory) return [];
    return [
      `${name} would hold ${formatBytes(usedMemory + incoming)}, ${formatBytes(incoming)} of it taken over, and its maxmemory is ${formatBytes(maxmemory)}`,
    ];
  });
}
