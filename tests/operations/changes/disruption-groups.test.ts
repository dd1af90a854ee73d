import { describe, expect, it } from "vitest";
import { type DisruptedNode, disruptionGroups } from "../../../operations/changes/budgets";
import { planCluster } from "../../../valkey/topology/cluster-plan";

/** Shards over three zones, each node in another one than the nodes before. */
const shardsOf = (count: number, size: number): DisruptedNode[][] =>
  Array.from({ length: count }, (_shard, shard) =>
    Array.from({ length: size }, (_node, node) => ({
      ...{ name: `${shard}.${node}`, machine: `machine ${shard}.${node}` },
      zone: `zone ${(shard + node) % 3}`,
    })),
  );
const namesOf = (shards: readonly (readonly DisruptedNode[])[]): string[] => shards.flat().map(({ name }) => name);

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
    expect(found.flat().sort()).toEqual(namesOf(shardsOf(count, 2)).sort());
  });

  it("of 15 shards have two nodes of a zone at most: a drain has to wait once", () => {
    const zones = ["a", "b", "c"];
    const nodes = Array.from({ length: 30 }, (_node, index) => ({
      name: `node-${index}`,
      zone: zones[index % 3] ?? "",
    }));
    const zoneOf = new Map(nodes.map(({ name, zone }) => [name, zone]));
    const { shards } = planCluster(nodes, { primaries: 15, replicasPerPrimary: 1 });
    const members = shards.map(({ primary, replicas }) =>
      [primary, ...replicas].map((name) => ({ name, machine: name, zone: zoneOf.get(name) ?? "" })),
    );
    const crowds = disruptionGroups(members).flatMap((group) =>
      zones.map((zone) => group.filter((name) => zoneOf.get(name) === zone).length),
    );
    expect(Math.max(...crowds)).toBe(2);
  });

  it("keep shards on the same machines apart", () => {
    const on = (shard: number, ...machines: readonly string[]): DisruptedNode[] =>
      machines.map((machine, node) => ({ name: `${shard}.${node}`, machine, zone: `zone ${node}` }));
    const shards = [on(0, "a", "b"), on(1, "c", "d"), on(2, "a", "b"), on(3, "e", "f"), on(4, "g", "h")];
    const groups = disruptionGroups(shards);
    expect(groups.filter((group) => group.includes("0.0") && group.includes("2.0"))).toEqual([]);
  });

  it("have all nodes of a shard in the same group", () => {
    const shards = shardsOf(8, 3);
    for (const members of shards)
      expect(disruptionGroups(shards).filter((group) => members.some(({ name }) => group.includes(name)))).toHaveLength(
        1,
      );
  });

  it("are a single one where a shard has one node, or there is one shard", () => {
    expect(disruptionGroups([...shardsOf(6, 2), [{ name: "alone", machine: "", zone: "" }]])).toHaveLength(1);
    expect(disruptionGroups(shardsOf(1, 3))).toHaveLength(1);
  });
});
