/** Nodes of a cluster that may be away at the same time in planned work, as a drain of a machine. Pure. */

/**
 * Groups of whole shards. While at most one node of each group is away, no shard lacks two nodes, and a majority of primaries is
 * there, wherever failovers have put the roles.
 * @param shards the names of each shard's nodes
 * @returns one group where a shard has a single node: whoever is away takes its slots with it
 */
export function disruptionGroups(shards: readonly (readonly string[])[]): string[][] {
  const minority = Math.ceil(shards.length / 2) - 1;
  const count = shards.every((members) => members.length > 1) ? Math.max(1, minority) : 1;
  return Array.from({ length: count }, (_group, group) =>
    shards.filter((_shard, index) => index % count === group).flat(),
  );
}
