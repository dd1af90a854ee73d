/** Nodes of a cluster that may be away at the same time in planned work, as a drain of a machine. Pure. */
import { groupBy } from "../../lib/group-by";

/** A node, and what takes it away together with others. */
export interface DisruptedNode {
  readonly name: string;
  /** Its machine and its zone. */
  readonly places: readonly string[];
}

/**
 * Groups of whole shards. While at most one node of each group is away, no shard lacks two nodes, and a majority of primaries is
 * there, wherever failovers have put the roles. Nodes of one place are spread over the groups, so that a drain has to wait seldom.
 * @param shards the nodes of each shard
 * @returns names of the nodes; one group where a shard has a single node: whoever is away takes its slots with it
 */
export function disruptionGroups(shards: readonly (readonly DisruptedNode[])[]): string[][] {
  const minority = Math.ceil(shards.length / 2) - 1;
  const count = shards.every((members) => members.length > 1) ? Math.max(1, minority) : 1;
  const most = Math.ceil(shards.length / count);
  const groups = Array.from({ length: count }, (): (readonly DisruptedNode[])[] => []);
  for (const shard of shards) {
    const crowd = (group: readonly (readonly DisruptedNode[])[]): number => crowdOf([...group, shard]);
    const open = groups.filter(({ length }) => length < most);
    const [best] = open.sort((one, other) => crowd(one) - crowd(other) || one.length - other.length);
    best?.push(shard);
  }
  return groups.map((group) => group.flat().map(({ name }) => name));
}

/** The most nodes of a group in one place. */
function crowdOf(group: readonly (readonly DisruptedNode[])[]): number {
  const places = group.flat().flatMap((node) => node.places);
  return Math.max(0, ...[...groupBy(places, (place) => place).values()].map((same) => same.length));
}
