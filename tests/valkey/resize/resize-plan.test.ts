import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Shape, groupByZone, nodeCount, distributePrimaries } from "../../../valkey/topology/placement";
import type { ResizeNode, ResizePlan } from "../../../valkey/resize/resize-plan";
import { failbackPlan, planResize, repairRefusals, withoutBalancing } from "../../../valkey/resize/resize-plan";
import { countSlots, SLOT_COUNT } from "../../../valkey/topology/slots";
import { FakeCluster } from "../../support/valkey/fake-cluster";
import { forAll } from "../../support/properties";

const ZONES = ["a", "b", "c"];
const shape = (primaries: number, replicasPerPrimary: number): Shape => ({ primaries, replicasPerPrimary });

function planOf(cluster: FakeCluster, wanted: Shape): ResizePlan | undefined {
  const decision = planResize(cluster.nodes, wanted);
  if (decision.kind === "refused") throw new Error(decision.reasons.join("; "));
  return decision.kind === "fits" ? undefined : decision.plan;
}

const movedSlots = (plan: ResizePlan | undefined): number =>
  (plan?.migrate ?? []).reduce((sum, { ranges }) => sum + countSlots(ranges), 0);

function carryOut(cluster: FakeCluster, plan: ResizePlan | undefined): void {
  for (const step of plan === undefined ? [] : cluster.steps(plan)) {
    step();
    expect(cluster.misplacedSlots).toBe(0);
  }
}

/** It has the shape, even and zone-safe, and nothing is left of who left. */
function expectFits(cluster: FakeCluster, wanted: Shape): void {
  const staying = cluster.nodes.filter(({ leaving }) => !leaving);
  const primaries = staying.filter(({ primary }) => primary === undefined);
  const sizes = primaries.map(({ slots }) => countSlots(slots));
  expect(primaries).toHaveLength(wanted.primaries);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  for (const { name, zone } of primaries) {
    const replicas = staying.filter(({ primary }) => primary === name);
    expect(replicas).toHaveLength(wanted.replicasPerPrimary);
    expect(replicas.map((replica) => replica.zone)).not.toContain(zone);
  }
  expect(cluster.nodes.filter(({ leaving, met, slots }) => leaving && (met || slots.length > 0))).toEqual([]);
  expect(cluster.nodes.filter(({ leaving, met }) => !leaving && !met)).toEqual([]);
  expect(planResize(cluster.nodes, wanted).kind).toBe("fits");
}

/** Formed, some failovers since, then wanted otherwise; any nodes may be those that leave. */
const situations = fc
  .record({
    before: fc.record({
      primaries: fc.integer({ min: 3, max: 9 }),
      replicasPerPrimary: fc.integer({ min: 0, max: 3 }),
    }),
    after: fc.record({ primaries: fc.integer({ min: 3, max: 9 }), replicasPerPrimary: fc.integer({ min: 0, max: 3 }) }),
    zones: fc.integer({ min: 2, max: 4 }),
    failovers: fc.array(fc.nat(), { maxLength: 4 }),
    leaving: fc.option(fc.array(fc.nat(), { maxLength: 36, minLength: 36 }), { nil: undefined }),
  })
  .map(({ before, after, zones, failovers, leaving }) => {
    const names = ["a", "b", "c", "d"].slice(0, zones);
    const cluster = FakeCluster.formed(before, names);
    for (const number of failovers) {
      const replicas = cluster.nodes.filter(({ primary }) => primary !== undefined);
      const replica = replicas[number % Math.max(1, replicas.length)];
      if (replica !== undefined) cluster.failOver(replica.name);
    }
    const excess = Math.max(0, nodeCount(before) - nodeCount(after));
    const chosen =
      leaving === undefined
        ? undefined
        : [...cluster.nodes]
            .map((node, i) => ({ node, key: leaving[i] ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .slice(0, excess + ((leaving[0] ?? 0) % 3))
            .map(({ node }) => node.name);
    cluster.requestShape(after, names, chosen);
    return { cluster, after };
  })
  .filter(({ cluster, after }) => {
    const staying = cluster.nodes.filter(({ leaving }) => !leaving);
    return (
      distributePrimaries(
        new Map([...groupByZone(staying)].map(([zone, members]) => [zone, members.length])),
        after,
      ) !== undefined
    );
  });

describe("planResize", () => {
  it("plans steps that end in the wanted shape, even and zone-safe, with one primary of every slot at any time", () => {
    forAll([situations], { numRuns: 400 }, ({ cluster, after }) => {
      const own = cluster.copy();
      carryOut(own, planOf(own, after));
      expectFits(own, after);
    });
  });

  it("leaves a shard that is dissolved its replicas until its slots have moved", () => {
    forAll([situations], { numRuns: 400 }, ({ cluster, after }) => {
      const plan = planOf(cluster, after);
      const dissolved = cluster.nodes.flatMap(({ name, slots }) => {
        const moved = (plan?.migrate ?? []).flatMap(({ from, ranges }) => (from === name ? ranges : []));
        return slots.length > 0 && countSlots(moved) === countSlots(slots) ? [name] : [];
      });
      const early = [...(plan?.attach ?? []), ...(plan?.reattach ?? [])].map(({ node }) => cluster.node(node).primary);
      expect(dissolved.filter((primary) => early.includes(primary))).toEqual([]);
    });
  });

  it("migrates no more slots than the best choice of shards to keep", () => {
    forAll([situations], { numRuns: 200 }, ({ cluster, after }) => {
      const shards = cluster.nodes.filter(({ slots }) => slots.length > 0);
      // Shares of an even cluster differ by one, and which of them goes on is decided by more than one slot.
      expect(movedSlots(planOf(cluster, after))).toBeLessThanOrEqual(fewestMoved(cluster.nodes, after) + shards.length);
    });
  });

  it("migrates exactly the slots above an even share when primaries are added", () => {
    forAll([situations], { numRuns: 200 }, ({ cluster, after }) => {
      const shards = cluster.nodes.filter(({ slots }) => slots.length > 0);
      fc.pre(shards.length <= after.primaries && shards.every(({ leaving }) => !leaving));
      // Where zones are too few for all shards to go on, one of them has all its slots moved.
      const most = primariesAllowed(cluster.nodes, after);
      fc.pre([...groupByZone(shards)].every(([zone, primaries]) => primaries.length <= most(zone)));
      const plan = planOf(cluster, after);
      fc.pre((plan?.failOver ?? []).length === 0);
      const larger = SLOT_COUNT % after.primaries;
      const above = shards
        .map(({ slots }) => countSlots(slots))
        .sort((a, b) => b - a)
        .reduce(
          (sum, count, i) => sum + Math.max(0, count - Math.floor(SLOT_COUNT / after.primaries) - (i < larger ? 1 : 0)),
          0,
        );
      expect(movedSlots(plan)).toBe(above);
    });
  });

  it("continues after an interruption at any point, and migrates no slot twice", () => {
    forAll([situations, fc.nat()], { numRuns: 400 }, ({ cluster, after }, cut) => {
      const own = cluster.copy();
      const plan = planOf(own, after);
      const steps = plan === undefined ? [] : own.steps(plan);
      const done = steps.slice(0, cut % (steps.length + 1));
      const slotsBefore = new Map(own.nodes.map(({ name, slots }) => [name, countSlots(slots)]));
      for (const step of done) step();
      const movedFirst = own.nodes.reduce(
        (sum, { name, slots }) => sum + Math.max(0, countSlots(slots) - (slotsBefore.get(name) ?? 0)),
        0,
      );
      const rest = planOf(own, after);
      // A hand-over moves no slot, but changes who has them.
      if ((plan?.failOver ?? []).length === 0)
        expect(movedFirst + movedSlots(rest)).toBeLessThanOrEqual(movedSlots(plan) + 2 * after.primaries);
      carryOut(own, rest);
      expectFits(own, after);
    });
  });

  it("spreads the primaries evenly as it grows by any steps over three zones", () => {
    forAll(
      [fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 }), fc.integer({ min: 0, max: 2 })],
      (growth, replicas) => {
        const cluster = FakeCluster.formed(shape(3, replicas), ZONES);
        let primaries = 3;
        for (const more of growth) {
          primaries += more;
          cluster.requestShape(shape(primaries, replicas), ZONES);
          carryOut(cluster, planOf(cluster, shape(primaries, replicas)));
          const perZone = ZONES.map(
            (zone) => cluster.nodes.filter((node) => node.primary === undefined && node.zone === zone).length,
          );
          expect(Math.max(...perZone) - Math.min(...perZone)).toBeLessThanOrEqual(1);
        }
      },
    );
  });

  it("restores the roles after growing and shrinking again, with slots in few ranges", () => {
    for (const [more, replicas] of [
      [4, 1],
      [5, 1],
      [3, 2],
      [6, 2],
    ] as const) {
      const cluster = FakeCluster.formed(shape(3, 1), ZONES);
      const before = cluster.nodes.map(({ name, primary }) => ({ name, primary }));
      for (const wanted of [shape(more, replicas), shape(3, 1)]) {
        cluster.requestShape(wanted, ZONES);
        carryOut(cluster, planOf(cluster, wanted));
        expectFits(cluster, wanted);
      }
      expect(cluster.nodes.slice(0, 6).map(({ name, primary }) => ({ name, primary }))).toEqual(before);
      for (const { slots } of cluster.nodes) expect(slots.length).toBeLessThanOrEqual(2);
    }
  });

  it("adds replicas without touching a primary or a slot", () => {
    const cluster = FakeCluster.formed(shape(3, 1), ZONES);
    cluster.requestShape(shape(3, 2), ZONES);
    const plan = planOf(cluster, shape(3, 2));
    expect(plan).toMatchObject({
      meet: ["n-6", "n-7", "n-8"],
      failOver: [],
      promote: [],
      reattach: [],
      migrate: [],
      reassign: [],
      forget: [],
    });
    expect(plan?.attach).toHaveLength(3);
  });

  it("fails over from a leaving primary to its replica rather than migrate its slots", () => {
    const cluster = FakeCluster.formed(shape(3, 2), ZONES);
    cluster.requestShape(shape(3, 1), ZONES, ["n-0", "n-4", "n-8"]);
    const plan = planOf(cluster, shape(3, 1));
    expect(plan?.failOver.map(({ from }) => from)).toEqual(["n-0"]);
    expect(plan?.migrate).toEqual([]);
  });

  it("separates a replica from its primary by a failover", () => {
    const cluster = FakeCluster.formed(shape(3, 2), ["a", "b"]);
    const replica = cluster.nodes.find(({ primary }) => primary === "n-0")?.name ?? "";
    cluster.failOver(replica);
    const plan = planOf(cluster, shape(3, 2));
    expect(plan).toMatchObject({ meet: [], attach: [], promote: [], migrate: [], reassign: [], forget: [] });
    carryOut(cluster, plan);
    expectFits(cluster, shape(3, 2));
  });

  it("moves no slots for an even spread when it only repairs, and changes shards only when an update asks for it", () => {
    const none = {
      meet: [],
      failOver: [],
      attach: [],
      promote: [],
      reattach: [],
      migrate: [],
      reassign: [],
      forget: [],
    };
    const migrate = [{ from: "n-0", to: "n-1", ranges: [{ from: 0, to: 9 }] }];
    const attach = [{ node: "n-5", primary: "n-1" }];
    expect(withoutBalancing({ ...none, migrate })).toBeUndefined();
    expect(withoutBalancing({ ...none, attach, migrate })).toEqual({ ...none, attach });
    const growing = { ...none, promote: ["n-5"], migrate };
    expect(withoutBalancing(growing)).toEqual(growing);
    expect(repairRefusals(growing, { handOver: true }).join()).toMatch(/slots would move/);
  });

  it("hands back after failovers, so that no zone has more primaries than an even spread gives it", () => {
    const cluster = FakeCluster.formed(shape(3, 1), ZONES);
    // The primaries are in a, b and c; then two of them are in b.
    cluster.failOver("n-3");
    expect(planOf(cluster, shape(3, 1))).toBeUndefined();
    expect(failbackPlan(cluster.nodes, shape(3, 1))?.failOver).toHaveLength(1);
    forAll(
      [
        fc.record({ primaries: fc.integer({ min: 3, max: 9 }), replicasPerPrimary: fc.integer({ min: 1, max: 3 }) }),
        fc.integer({ min: 3, max: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
      ],
      { numRuns: 300 },
      (wanted, zones, failovers) => {
        const names = ["a", "b", "c", "d"].slice(0, zones);
        const own = FakeCluster.formed(wanted, names);
        const most = (): number =>
          Math.max(
            ...[...groupByZone(own.nodes.filter(({ primary }) => primary === undefined)).values()].map(
              (each) => each.length,
            ),
          );
        const formed = most();
        for (const number of failovers) {
          const replicas = own.nodes.filter(({ primary }) => primary !== undefined);
          own.failOver(replicas[number % replicas.length]?.name ?? "");
        }
        carryOut(own, planOf(own, wanted));
        carryOut(own, failbackPlan(own.nodes, wanted));
        expectFits(own, wanted);
        expect(failbackPlan(own.nodes, wanted)).toBeUndefined();
        // With three replicas over three zones a shard may not be able to have its primary elsewhere.
        if (wanted.replicasPerPrimary < zones) expect(most()).toBeLessThanOrEqual(formed);
      },
    );
  });

  it("refuses when keys do not fit the remaining primaries, and names each of them", () => {
    const cluster = FakeCluster.formed(shape(4, 1), ZONES);
    cluster.requestShape(shape(3, 1), ZONES);
    for (const node of cluster.nodes)
      Object.assign(node, { maxmemory: 5000, usedMemory: 4000, keyBytes: node.primary === undefined ? 3600 : 0 });
    const decision = planResize(cluster.nodes, shape(3, 1));
    expect(decision).toMatchObject({ kind: "refused" });
    expect(decision.kind === "refused" ? decision.reasons : []).toEqual(
      [0, 1, 2].map(
        (i) =>
          expect.stringMatching(
            new RegExp(
              `^n-${i} would hold 5\\.1 KiB \\(1\\.2 KiB of it from migrated slots\\), more than its maxmemory of 4\\.9 KiB$`,
            ),
          ) as string,
      ),
    );
  });

  it("plans a thousand nodes", () => {
    const cluster = FakeCluster.formed(shape(400, 1), ZONES);
    cluster.requestShape(shape(500, 1), ZONES);
    expect(planOf(cluster, shape(500, 1))?.meet).toHaveLength(200);
  });
});

/** How many primaries a zone may have, every replica being in another zone than its primary. */
function primariesAllowed(
  nodes: readonly ResizeNode[],
  { primaries: P, replicasPerPrimary: R }: Shape,
): (zone: string) => number {
  const sizes = groupByZone(nodes.filter(({ leaving }) => !leaving));
  return (zone) => {
    const n = sizes.get(zone)?.length ?? 0;
    return R < 2 ? n : Math.min(n, Math.floor((R * P - n) / (R - 1)));
  };
}

/** By trying every set of present shards that a node of stays, in every choice of zones. */
function fewestMoved(nodes: readonly ResizeNode[], wanted: Shape): number {
  const staying = nodes.filter(({ leaving }) => !leaving);
  const limit = primariesAllowed(nodes, wanted);
  const shards = nodes
    .filter(({ slots }) => slots.length > 0)
    .map((primary) => ({
      slots: countSlots(primary.slots),
      zones: [
        ...new Set(staying.filter((node) => node === primary || node.primary === primary.name).map(({ zone }) => zone)),
      ],
    }));
  let best = Infinity;
  const search = (index: number, kept: number[], used: Map<string, number>): void => {
    if (kept.length > wanted.primaries) return;
    const shard = shards[index];
    if (shard === undefined) {
      const larger = SLOT_COUNT % wanted.primaries;
      const stay = kept
        .sort((a, b) => b - a)
        .reduce(
          (sum, count, i) => sum + Math.min(count, Math.floor(SLOT_COUNT / wanted.primaries) + (i < larger ? 1 : 0)),
          0,
        );
      best = Math.min(best, SLOT_COUNT - stay);
      return;
    }
    search(index + 1, [...kept], used);
    for (const zone of shard.zones)
      if ((used.get(zone) ?? 0) < limit(zone))
        search(index + 1, [...kept, shard.slots], new Map(used).set(zone, (used.get(zone) ?? 0) + 1));
  };
  search(0, [], new Map());
  return best;
}
