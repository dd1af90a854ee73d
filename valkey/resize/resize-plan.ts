import { compact } from "../../lib/compact";
import type { Shape } from "../topology/placement";
import type { RepairLimits } from "../membership/deadline";
import { type CurrentNode, type DesiredShard, type Failover, desiredShards, failbacks } from "./resize-roles";
import { type SlotTransfer, planTransfers } from "./slot-transfers";
import { formatBytes } from "../../lib/units";
import { countSlots } from "../topology/slots";

export interface ResizeNode extends CurrentNode, NodeMemory {
  /** For a node that stays: with all primaries. For a node that leaves: with at least one other node. */
  readonly met: boolean;
}

export interface ReplicaAssignment {
  readonly node: string;
  readonly primary: string;
}

/** In the order of execution. Every slot has a primary at all times, and if possible replicas before it gets slots. */
export interface ResizePlan {
  /** New nodes that must meet all other nodes. */
  readonly meet: readonly string[];
  /** Needed if a primary leaves, or if the zones require a different primary (CLUSTER FAILOVER). */
  readonly failOver: readonly Failover[];
  /** Nodes without slots that become replicas. */
  readonly attach: readonly ReplicaAssignment[];
  /** Replicas that become primaries without slots or keys. */
  readonly promote: readonly string[];
  /** Replicas that change their primary before slots are migrated. */
  readonly reattach: readonly ReplicaAssignment[];
  readonly migrate: readonly SlotTransfer[];
  /** Nodes of shards that have given all their slots away. */
  readonly reassign: readonly ReplicaAssignment[];
  /** Nodes that leave, and have no slots any more; they are reset after all others forgot them. */
  readonly forget: readonly string[];
}

type ResizeDecision =
  /** The cluster has the wanted shape, evenly distributed slots, and no replica in the zone of its primary. */
  | { readonly kind: "fits" }
  | { readonly kind: "resize"; readonly plan: ResizePlan }
  | { readonly kind: "refused"; readonly reasons: readonly string[] };

/** Continues an earlier plan. @param nodes exactly as many stay as the shape needs, in zones that separate replicas */
export function planResize(nodes: readonly ResizeNode[], shape: Shape): ResizeDecision {
  const shards = desiredShards(nodes, shape);
  const owners = nodes.filter(({ slots }) => slots.length > 0);
  // Slots belong to a shard, whichever of its nodes is the primary. So transfers are planned between future primaries.
  const successorOf = new Map(
    shards.flatMap(({ primary, previousPrimary }) =>
      previousPrimary === undefined ? [] : [[previousPrimary, primary]],
    ),
  );
  const migrate = planTransfers(
    owners.map(({ name, slots }) => ({ name: successorOf.get(name) ?? name, slots })),
    shards.map(({ primary }) => primary),
  );
  const plan = { ...planRoles(nodes, shards), migrate };
  if (Object.values(plan).every((list) => list.length === 0)) return { kind: "fits" };
  const reasons = memoryReasons(nodes, successorOf, migrate);
  return reasons.length > 0 ? { kind: "refused", reasons } : { kind: "resize", plan };
}

/** Failovers that spread the primaries of a cluster of the wanted shape evenly over the zones. */
export function failbackPlan(nodes: readonly ResizeNode[], shape: Shape): ResizePlan | undefined {
  const failOver = failbacks(nodes, shape);
  if (failOver.length === 0) return undefined;
  return { meet: [], failOver, attach: [], promote: [], reattach: [], migrate: [], reassign: [], forget: [] };
}

/** A repair does not balance slots, because somebody may have chosen the uneven distribution. */
export function withoutBalancing(plan: ResizePlan): ResizePlan | undefined {
  const changesShards = [plan.promote, plan.reassign, plan.forget].some(({ length }) => length > 0);
  if (changesShards) return plan;
  const rest = { ...plan, migrate: [] };
  return Object.values(rest).some(({ length }) => length > 0) ? rest : undefined;
}

export function repairRefusals({ migrate, failOver }: ResizePlan, { handOver }: RepairLimits): string[] {
  return compact([
    migrate.length > 0 ? "slots would move between shards; only an update may move slots" : undefined,
    failOver.length > 0 && !handOver
      ? `this repair must not replace a working primary, but ${failOver[0]?.to ?? ""} would take over from one`
      : undefined,
  ]);
}

function planRoles(nodes: readonly ResizeNode[], shards: readonly DesiredShard[]): Omit<ResizePlan, "migrate"> {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const failOver = shards.flatMap(({ primary, previousPrimary }) =>
    previousPrimary === undefined || previousPrimary === primary ? [] : [{ from: previousPrimary, to: primary }],
  );
  const newShards = shards.filter(({ previousPrimary }) => previousPrimary === undefined);
  const promote = newShards
    .map(({ primary }) => primary)
    .filter((primary) => byName.get(primary)?.primary !== undefined);
  const successorOf = new Map(failOver.map(({ from, to }) => [from, to]));
  const roles: Roles = {
    successorOf,
    promoted: new Set(promote),
    dissolved: dissolvedShards(nodes, shards, successorOf),
  };
  const moves = shards.flatMap(({ primary, replicas }) =>
    compact(replicas.map((name) => byName.get(name)))
      .filter((node) => followedAfterFailovers(node, roles) !== primary)
      .map((node) => ({ step: stepOf(node, primary, roles), assignment: { node: node.name, primary } })),
  );
  const movesIn = (step: ReplicaStep): ReplicaAssignment[] =>
    moves.filter((move) => move.step === step).map(({ assignment }) => assignment);
  return {
    meet: nodes.filter(({ leaving, met }) => !leaving && !met).map(({ name }) => name),
    failOver,
    attach: movesIn("attach"),
    promote,
    reattach: movesIn("reattach"),
    reassign: movesIn("reassign"),
    forget: nodes.filter(({ leaving, met }) => leaving && met).map(({ name }) => name),
  };
}

type ReplicaStep = "attach" | "reattach" | "reassign";

interface Roles {
  readonly successorOf: ReadonlyMap<string, string>;
  /** Replicas that become primaries of new shards. */
  readonly promoted: ReadonlySet<string>;
  readonly dissolved: ReadonlySet<string>;
}

function dissolvedShards(
  nodes: readonly ResizeNode[],
  shards: readonly DesiredShard[],
  successorOf: Roles["successorOf"],
): Set<string> {
  const primaries = new Set(shards.map(({ primary }) => primary));
  const owners = nodes.filter(({ slots }) => slots.length > 0).map(({ name }) => name);
  return new Set(owners.filter((name) => !primaries.has(name) && !successorOf.has(name)));
}

/** Name of the primary that a node follows after the failovers. Undefined if the node follows no primary. */
function followedAfterFailovers({ name, primary }: ResizeNode, { successorOf }: Roles): string | undefined {
  return successorOf.get(name) ?? successorOf.get(primary ?? "") ?? primary;
}

/** After the failovers, the node does not follow this primary yet. */
function stepOf({ name, primary: present }: ResizeNode, primary: string, roles: Roles): ReplicaStep {
  if (roles.dissolved.has(name) || roles.dissolved.has(present ?? "")) return "reassign";
  const isFree = present === undefined && !roles.successorOf.has(name);
  return isFree && !roles.promoted.has(primary) ? "attach" : "reattach";
}

interface NodeMemory {
  readonly keyBytes: number;
  readonly usedMemory: number;
  /** Value of maxmemory, bytes; 0 means no limit. */
  readonly maxmemory: number;
}

/** A primary would exceed its maxmemory, and refuse writes or evict keys. Refused before a slot moves. */
function memoryReasons(
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
