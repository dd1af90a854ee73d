import { describe, expect, it } from "vitest";
import { disruptionGroups } from "../../../valkey/topology/disruption-groups";

const shardsOf = (count: number, size: number): string[][] =>
  Array.from({ length: count }, (_shard, shard) => Array.from({ length: size }, (_node, node) => `${shard}.${node}`));

describe("groups of nodes of which one may be away", () => {
  it.each([
    [3, 1],
    [4, 1],
    [5, 2],
    [6, 2],
    [15, 7],
    [16, 7],
  ])("of %i shards are %i: less than half of the shards", (count, groups) => {
    const found = disruptionGroups(shardsOf(count, 2));
    expect(found).toHaveLength(groups);
    expect(2 * found.length).toBeLessThan(count);
    expect(found.flat().sort()).toEqual(shardsOf(count, 2).flat().sort());
  });

  it("have all nodes of a shard in the same group", () => {
    const shards = shardsOf(8, 3);
    for (const members of shards)
      expect(disruptionGroups(shards).filter((group) => members.some((name) => group.includes(name)))).toHaveLength(1);
  });

  it("are a single one where a shard has one node, or there is one shard", () => {
    expect(disruptionGroups([...shardsOf(6, 2), ["alone"]])).toHaveLength(1);
    expect(disruptionGroups(shardsOf(1, 3))).toHaveLength(1);
  });
});
