import { type PlacedNode, type Shape, groupByZone, nodeCount, distributePrimaries } from "./placement";
import { assignReplicas } from "./replica-assignment";
import { type SlotRange, SLOT_COUNT, distributeSlots } from "./slots";

/** A primary with its slots and its replicas, by node name. */
export interface ShardPlan {
  readonly primary: string;
  readonly replicas: readonly string[];
  readonly slots: SlotRange;
}

/** The shards of a new cluster. */
export interface ClusterPlan {
  readonly shards: readonly ShardPlan[];
  /**
   * Descriptions of replicas that are in the zone of their primary. The list is empty if there are no such replicas.
   */
  readonly warnings: readonly string[];
}

/** Error when the nodes and the shape allow no plan. `problems` lists every reason. */
export class PlanError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`no cluster can be planned: ${problems.join("; ")}`);
    this.name = "PlanError";
  }
}

/**
 * Plans a cluster over nodes in known zones.
 *
 * Primaries are spread over the zones as evenly as possible. Every replica is in a different zone than its primary. The
 * replicas of one primary are in different zones as far as possible. If a replica must be in the zone of its primary,
 * the plan has a warning that names the two nodes. The same nodes always give the same plan.
 * @throws PlanError when the number of nodes does not fit the shape, or when two nodes have the same name
 */
export function planCluster(nodes: readonly PlacedNode[], shape: Shape): ClusterPlan {
  const problems = planProblems(nodes, shape);
  if (problems.length > 0) throw new PlanError(problems);

  const zones = groupByZone(nodes);
  const sizes = new Map([...zones].map(([zone, members]) => [zone, members.length]));
  const shares = distributePrimaries(sizes, shape) ?? evenShares(sizes, shape.primaries);
  const primaries = interleave([...zones].map(([zone, members]) => members.slice(0, shares.get(zone))));
  const replicas = [...zones].flatMap(([zone, members]) => members.slice(shares.get(zone)));
  const assigned = assignReplicas(primaries, replicas, shape.replicasPerPrimary);

  const names = primaries.map(({ name }) => name);
  const shards = assignSlots(names, distributeSlots(shape.primaries)).map(({ primary, slots }) => ({
    primary,
    replicas: (assigned.get(primary) ?? []).map((replica) => replica.name),
    slots,
  }));
  return { shards, warnings: zoneWarnings(shards, nodes) };
}

/** @throws Error when the numbers differ, because a slot could then have two owners or no owner */
export function assignSlots(
  primaries: readonly string[],
  ranges: readonly SlotRange[],
): { primary: string; slots: SlotRange }[] {
  if (primaries.length !== ranges.length) {
    throw new Error(`${ranges.length} ranges of slots for ${primaries.length} primaries`);
  }
  return ranges.map((slots, index) => ({ primary: primaries[index] ?? "", slots }));
}

function planProblems(nodes: readonly PlacedNode[], shape: Shape): string[] {
  const problems: string[] = [];
  const { primaries, replicasPerPrimary } = shape;
  if (!Number.isInteger(primaries) || primaries < 3) {
    problems.push(`${primaries} primaries: a cluster needs at least 3`);
  }
  if (primaries > SLOT_COUNT) problems.push(`${primaries} primaries: there are only ${SLOT_COUNT} slots`);
  if (!Number.isInteger(replicasPerPrimary) || replicasPerPrimary < 0) {
    problems.push(`${replicasPerPrimary} replicas per primary: must be 0 or more`);
  }
  if (problems.length === 0 && nodes.length !== nodeCount(shape)) {
    problems.push(
      `${nodes.length} nodes: ${primaries} primaries with ${replicasPerPrimary} replicas each need ${nodeCount(shape)} nodes`,
    );
  }
  const seen = new Set<string>();
  for (const { name } of nodes) {
    if (seen.has(name)) problems.push(`node ${name} is named twice`);
    seen.add(name);
  }
  return problems;
}

/** For zones that cannot separate every replica from its primary: as even as the numbers of nodes allow. */
function evenShares(sizes: ReadonlyMap<string, number>, primaries: number): Map<string, number> {
  const shares = distributePrimaries(sizes, { primaries, replicasPerPrimary: 0 });
  if (shares === undefined) throw new PlanError([`the zones have too few nodes for ${primaries} primaries`]);
  return shares;
}

/** In turn: a1 b1 c1 a2 b2 …, so neighboring ranges of slots get primaries in different zones. */
function interleave<T>(groups: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...groups.map((group) => group.length));
  return Array.from({ length: longest }).flatMap((_, index) =>
    groups.flatMap((group) => group.slice(index, index + 1)),
  );
}

function zoneWarnings(shards: readonly ShardPlan[], nodes: readonly PlacedNode[]): string[] {
  const zoneOf = new Map(nodes.map((node) => [node.name, node.zone]));
  return shards.flatMap(({ primary, replicas }) => {
    const zone = zoneOf.get(primary);
    const beside = replicas.filter((replica) => zoneOf.get(replica) === zone);
    return beside.map((replica) => `${replica} and its primary ${primary} are in the same zone, ${zone ?? "unknown"}`);
  });
}
