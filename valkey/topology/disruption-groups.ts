/** Nodes of a cluster that may be away at the same time in planned work, as a drain of a machine. Pure. */
import { groupBy } from "../../lib/group-by";

/** A node, and where it is. */
export interface DisruptedNode {
  readonly name: string;
  readonly machine: string;
  readonly zone: string;
}

type Group = (readonly DisruptedNode[])[];

/**
 * Groups of whole shards. While at most one node of each group is away, no shard lacks two nodes, and a majority of primaries is
 * there, wherever failovers have put the roles. Nodes of a machine, then those of a zone, are spread over
 * the groups, so that a drain has to wait seldom.
 * @param shards the nodes of each shard
 * @returns names of the nodes; one group where a shard has a single node: whoever is away takes its slots with it
 */
export function disruptionGroups(shards: readonly (readonly DisruptedNode[])[]): string[][] {
  const minority = Math.ceil(shards.length / 2) - 1;
  const count = shards.every((members) => members.length > 1) ? Math.max(1, minority) : 1;
  const most = Math.ceil(shards.length / count);
  const groups = Array.from({ length: count }, (): Group => []);
  for (const shard of shards) {
    const crowds = (group: Group): number[] => [
      crowdOf([...group, shard], "machine"),
      crowdOf([...group, shard], "zone"),
    ];
    const open = groups.filter(({ length }) => length < most);
    const [best] = open
      .map((group) => ({ group, cost: [...crowds(group), group.length] }))
      .sort((one, other) => compareInOrder(one.cost, other.cost));
    best?.group.push(shard);
  }
  return groups.map((group) => group.flat().map(({ name }) => name));
}

/** The most nodes of a group on one machine, or in one zone. */
function crowdOf(group: Group, place: "machine" | "zone"): number {
  const crowds = groupBy(group.flat(), (node) => node[place]);
  return Math.max(0, ...[...crowds.values()].map(({ length }) => length));
}

/** By the first number that differs. */
function compareInOrder(some: readonly number[], others: readonly number[]): number {
  const index = some.findIndex((number, at) => number !== others[at]);
  return (some[index] ?? 0) - (others[index] ?? 0);
}
