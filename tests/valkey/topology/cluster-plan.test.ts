import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignSlots, planCluster, PlanError } from "../../../valkey/topology/cluster-plan";
import type { PlacedNode, Shape } from "../../../valkey/topology/placement";
import {
  groupByZone,
  nodeCount,
  rotateOverZones,
  distributePrimaries,
  spreadOverZones,
} from "../../../valkey/topology/placement";
import { countSlots, distributeSlots, normaliseRanges } from "../../../valkey/topology/slots";
import { forAll } from "../../support/properties";

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `node-${String(i)}`);
const shapes = fc.record({
  primaries: fc.integer({ min: 3, max: 60 }),
  replicasPerPrimary: fc.integer({ min: 0, max: 4 }),
});
const zoneNames = ["a", "b", "c", "d", "e", "f"];

/** Nodes of a shape, each in any zone: as uneven as a scheduler or a user may place them. */
const anyPlacement = (maxPrimaries: number): fc.Arbitrary<{ shape: Shape; nodes: PlacedNode[] }> =>
  fc
    .record({
      primaries: fc.integer({ min: 3, max: maxPrimaries }),
      replicasPerPrimary: fc.integer({ min: 0, max: 3 }),
      zones: fc.integer({ min: 1, max: 4 }),
    })
    .chain(({ zones, ...shape }) =>
      fc
        .array(fc.constantFrom(...zoneNames.slice(0, zones)), {
          minLength: nodeCount(shape),
          maxLength: nodeCount(shape),
        })
        .map((placed) => ({ shape, nodes: placed.map((zone, i) => ({ name: `node-${String(i)}`, zone })) })),
    );

function check(nodes: readonly PlacedNode[], shape: Shape): void {
  const plan = planCluster(nodes, shape);
  const used = plan.shards.flatMap((shard) => [shard.primary, ...shard.replicas]);
  expect(plan.shards).toHaveLength(shape.primaries);
  expect([...used].sort()).toEqual(nodes.map((node) => node.name).sort());
  for (const shard of plan.shards) expect(shard.replicas).toHaveLength(shape.replicasPerPrimary);
  expect(normaliseRanges(plan.shards.map((shard) => shard.slots))).toEqual([{ from: 0, to: 16383 }]);
  const sizes = plan.shards.map((shard) => countSlots([shard.slots]));
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
}

describe("planCluster", () => {
  it("uses every node once and covers every slot once, in any placement", () => {
    forAll([anyPlacement(12)], ({ shape, nodes }) => {
      check(nodes, shape);
    });
  });

  it("is zone-safe, with primaries spread evenly, over two zones or more that rotateOverZones filled", () => {
    forAll([shapes, fc.integer({ min: 2, max: 6 })], (shape, zoneCount) => {
      const zones = zoneNames.slice(0, zoneCount);
      const nodes = rotateOverZones(names(nodeCount(shape)), shape, zones);
      const plan = planCluster(nodes, shape);
      expect(plan.warnings).toEqual([]);
      const zoneOf = new Map(nodes.map((node) => [node.name, node.zone]));
      const perZone = zones.map((zone) => plan.shards.filter((shard) => zoneOf.get(shard.primary) === zone).length);
      expect(Math.max(...perZone) - Math.min(...perZone)).toBeLessThanOrEqual(1);
      for (const shard of plan.shards) {
        const replicaZones = shard.replicas.map((replica) => zoneOf.get(replica));
        expect(replicaZones).not.toContain(zoneOf.get(shard.primary));
      }
    });
  });

  it("puts one primary's replicas in distinct zones when there are enough zones", () => {
    forAll([fc.integer({ min: 3, max: 30 }), fc.integer({ min: 2, max: 3 })], (primaries, replicasPerPrimary) => {
      const zones = zoneNames.slice(0, replicasPerPrimary + 1);
      const count = primaries * (replicasPerPrimary + 1);
      const nodes = spreadOverZones(names(count), zones);
      const zoneOf = new Map(nodes.map((node) => [node.name, node.zone]));
      for (const shard of planCluster(nodes, { primaries, replicasPerPrimary }).shards) {
        expect(new Set(shard.replicas.map((replica) => zoneOf.get(replica))).size).toBe(replicasPerPrimary);
      }
    });
  });

  it("is zone-safe exactly when any choice of roles is, compared with brute force", () => {
    forAll([anyPlacement(4)], ({ shape, nodes }) => {
      const safe = planCluster(nodes, shape).warnings.length === 0;
      expect(safe).toBe(
        someSplitIsSafe(
          [...groupByZone(nodes).values()].map((members) => members.length),
          shape,
        ),
      );
    });
  });

  it("names the unsafe pairs when there is only one zone", () => {
    const plan = planCluster(spreadOverZones(names(6), ["a"]), { primaries: 3, replicasPerPrimary: 1 });
    expect(plan.warnings).toHaveLength(3);
    expect(plan.warnings[0]).toMatch(/node-\d and its primary node-\d are in the same zone, a/);
  });

  it("names every problem at once", () => {
    const twice = [
      { name: "x", zone: "a" },
      { name: "x", zone: "b" },
    ];
    expect(() => planCluster(twice, { primaries: 2, replicasPerPrimary: -1 })).toThrow(PlanError);
    try {
      planCluster(twice, { primaries: 2, replicasPerPrimary: -1 });
    } catch (error) {
      expect((error as PlanError).problems).toHaveLength(3);
    }
    expect(() => planCluster(spreadOverZones(names(5), ["a", "b"]), { primaries: 3, replicasPerPrimary: 1 })).toThrow(
      /5 nodes.*need 6/,
    );
  });
});

describe("assignSlots", () => {
  it("refuses primaries without a range and ranges without a primary", () => {
    const ranges = distributeSlots(3);
    expect(assignSlots(["a", "b", "c"], ranges).map(({ slots }) => slots)).toEqual(ranges);
    expect(() => assignSlots(["a", "b", "c", "d"], ranges)).toThrow("3 ranges of slots for 4 primaries");
    expect(() => assignSlots(["a", "b"], ranges)).toThrow("3 ranges of slots for 2 primaries");
  });
});

describe("distributePrimaries", () => {
  it("gives no zone more primaries than nodes", () => {
    forAll([anyPlacement(12)], ({ shape, nodes }) => {
      const sizes = new Map([...groupByZone(nodes)].map(([zone, members]) => [zone, members.length]));
      for (const [zone, share] of distributePrimaries(sizes, shape) ?? [])
        expect(share).toBeLessThanOrEqual(sizes.get(zone) ?? 0);
    });
  });
});

/** Tries every number of primaries per zone; a split works when supply and demand can be paired across zones. */
function someSplitIsSafe(sizes: readonly number[], shape: Shape): boolean {
  const { primaries, replicasPerPrimary } = shape;
  const search = (index: number, left: number, split: number[]): boolean => {
    if (index === sizes.length)
      return (
        left === 0 &&
        pairsAcross(
          sizes.map((n, i) => n - (split[i] ?? 0)),
          split.map((p) => p * replicasPerPrimary),
        )
      );
    for (let p = 0; p <= Math.min(left, sizes[index] ?? 0); p++)
      if (search(index + 1, left - p, [...split, p])) return true;
    return false;
  };
  return search(0, primaries, []);
}

/** Backtracking: the first zone's replicas are sent to every possible zone. */
function pairsAcross(supply: readonly number[], demand: readonly number[]): boolean {
  const from = supply.findIndex((s) => s > 0);
  if (from < 0) return demand.every((d) => d === 0);
  return demand.some(
    (d, to) => to !== from && d > 0 && pairsAcross(supply.with(from, (supply[from] ?? 0) - 1), demand.with(to, d - 1)),
  );
}
