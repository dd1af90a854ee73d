import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fits, layoutOf, nodeSelectorsOfMachineSets, unitOf } from "../../../../platforms/eks/pools/machine-sets";
import { planMachines } from "../../../../platforms/eks/pools/machine-plan";
import { type AllocatableResources, allocatableOn, UNTUNED } from "../../../../platforms/eks/pools/tuning";
import { machineType } from "../../../../platforms/eks/offers/machine-types";
import { type PodGroup, clientPodGroup } from "../../../../platforms/eks/pools/pod-groups";
import { simulateScheduling } from "../../../support/kubernetes/scheduling-simulation";
import { forAll } from "../../../support/properties";

const ZONES = ["a", "b", "c"];
const ROOM: AllocatableResources = { cpuMilli: 8000, memoryMiB: 16_384, pods: 20, volumes: 6 };

function group(name: string, count: number, changes: Partial<PodGroup> = {}): PodGroup {
  return clientPodGroup({
    name,
    count,
    pool: "servers",
    zones: ZONES,
    cpuMilli: 1000,
    memoryMiB: 1024,
    separate: true,
    ...changes,
  });
}

const anyGroup = fc
  .record({
    count: fc.integer({ min: 1, max: 9 }),
    zones: fc.constantFrom(...[1, 2, 3].map((count) => ZONES.slice(0, count))),
    cpuMilli: fc.constantFrom(500, 1000, 2000, 3000),
    memoryMiB: fc.constantFrom(512, 2048, 8192),
    volume: fc.constantFrom(undefined, { gib: 1, storageClass: "gp3" as const }),
    place: fc.constantFrom("apart", "apart", "anywhere", "together"),
  })
  .map(({ count, place, zones, ...rest }) =>
    group("", count, {
      ...rest,
      zones: place === "together" ? zones.slice(0, 1) : zones,
      separate: place === "apart",
      together: place === "together",
    }),
  )
  .filter((each) => fits(unitOf(each), ROOM));

const sorted = (machines: ReadonlyMap<string, number>): number[] => [...machines.values()].sort((a, b) => b - a);

/** Numbers of machines in all over many orders, and whether a pod was ever left over. */
function outcomes(groups: readonly PodGroup[], room: AllocatableResources): { totals: number[]; unplaced: boolean } {
  const ends = Array.from({ length: 300 }, (_, seed) => simulateScheduling(groups, room, seed));
  const totals = ends.map(({ machines }) => sorted(machines).reduce((sum, count) => sum + count, 0));
  return { totals: [...new Set(totals)].sort((a, b) => a - b), unplaced: ends.some(({ unplaced }) => unplaced > 0) };
}

describe("a set of machines", () => {
  it("holds its pods on as many machines as planned, whatever the order of Karpenter and the scheduler", () => {
    let shared = 0;
    forAll([fc.array(anyGroup, { minLength: 1, maxLength: 4 }), fc.integer()], { numRuns: 1500 }, (groups, seed) => {
      const layout = layoutOf(groups, ROOM);
      if (layout === undefined) return;
      if (groups.length > 1) shared++;
      const { machines, unplaced } = simulateScheduling(groups, ROOM, seed);
      expect(unplaced).toBe(0);
      expect(new Map(machines)).toEqual(new Map(layout.machines));
    });
    expect(shared).toBeGreaterThan(100);
  }, 60_000);

  it("holds as many as planned when a deployment has grown", () => {
    forAll([anyGroup, fc.integer({ min: 0, max: 9 }), fc.integer()], { numRuns: 300 }, (first, more, seed) => {
      const grown = clientPodGroup({ ...first, count: first.pods.length + more });
      if (!fits(unitOf(grown), ROOM)) return;
      const { machines, unplaced } = simulateScheduling([grown], ROOM, seed, more);
      expect(unplaced).toBe(0);
      expect(sorted(machines)).toEqual(sorted(layoutOf([grown], ROOM)?.machines ?? new Map()));
    });
  }, 60_000);

  it("is refused where an order needs another machine, which the simulation finds", () => {
    // Valkey on EKS: the zone with two of the four is Karpenter's choice, and then the scheduler's.
    const topologies = [group("replication", 4), group("cluster", 6)];
    const one = { ...ROOM, cpuMilli: 1500 };
    expect(layoutOf(topologies, one)).toBeUndefined();
    expect(outcomes(topologies, one).totals).toEqual([10, 11, 12]);
    expect(topologies.map((each) => sorted(layoutOf([each], one)?.machines ?? new Map()))).toEqual([
      [2, 1, 1],
      [2, 2, 2],
    ]);
    // Groups that stay together, more than a machine holds.
    const apart = { separate: false, together: true, zones: ["a"] };
    const density = [group("one", 5, apart), group("two", 4, apart), group("three", 4, apart)];
    expect(layoutOf(density, ROOM)).toBeUndefined();
    expect(outcomes(density, ROOM).unplaced).toBe(true);
    // Small ones and large ones that may share.
    const mixed = [group("large", 6, { cpuMilli: 5000, separate: false }), group("small", 6, { separate: false })];
    expect(layoutOf(mixed, { ...ROOM, cpuMilli: 6000 })).toBeUndefined();
    expect(outcomes(mixed, { ...ROOM, cpuMilli: 6000 }).totals.length).toBeGreaterThan(1);
  });

  it("has room for Sentinels and proxies beside servers that are as many, and for none that are more in a zone", () => {
    const servers = group("servers", 3);
    const proxies = group("proxies", 2, { zones: ["a", "b"], cpuMilli: 50 });
    const sentinels = (count: number): PodGroup => group("Sentinels", count, { cpuMilli: 50 });
    expect(layoutOf([servers, sentinels(3), proxies], ROOM)).toMatchObject({ fullest: 3 });
    expect(sorted(layoutOf([servers, sentinels(5), proxies], ROOM)?.machines ?? new Map())).toEqual([2, 2, 1]);
    expect(layoutOf([group("servers", 4), sentinels(5)], ROOM)).toBeUndefined();
    expect(layoutOf([servers, group("proxies", 2, { zones: ["a", "d"] })], ROOM)).toBeUndefined();
  });
});

describe("the sets of a plan", () => {
  const pools = (...instanceTypes: string[]): Parameters<typeof planMachines>[1] => ({
    servers: { instanceTypes, tuning: UNTUNED, rootVolumeGiB: 20 },
  });
  const namesOf = (groups: readonly PodGroup[], ...types: string[]): (readonly [string, readonly string[]])[] =>
    planMachines(groups, pools(...types), undefined).sets.map(({ name, groups: own }) => [
      name,
      own.map(({ label }) => label),
    ]);
  const bin = (name: string, count: number): PodGroup =>
    group(name, count, { separate: false, together: true, zones: ["a"] });

  it("are bins of groups that stay together, filled in the order of the configuration", () => {
    const groups = [bin("five", 5), bin("four", 4), bin("two", 2)];
    expect(namesOf(groups, "c7g.2xlarge")).toEqual([
      ["five", ["five", "two"]],
      ["four", ["four"]],
    ]);
  });

  it("never change for the deployments before one that is added", () => {
    const selectors = (groups: readonly PodGroup[]): Map<string, unknown> => {
      const { sets } = planMachines(groups, pools("c7g.2xlarge", "c7g.4xlarge"), undefined);
      return new Map(nodeSelectorsOfMachineSets(sets));
    };
    forAll([fc.array(anyGroup, { minLength: 1, maxLength: 6 })], (found) => {
      const groups = found.map((each, index) => ({ ...each, name: `deployment-${index}` }));
      const before = selectors(groups.slice(0, -1));
      const after = selectors(groups);
      for (const [label, selector] of before) expect(after.get(label)).toEqual(selector);
      expect(after.size).toBe(groups.length);
    });
  });

  it("ask for their type where the pool has others and a machine holds several pods", () => {
    const pinned = (groups: readonly PodGroup[], ...types: string[]): unknown[] => [
      ...nodeSelectorsOfMachineSets(planMachines(groups, pools(...types), undefined).sets).values(),
    ];
    const set = { "valkey-measured/machines": "own" };
    expect(pinned([group("own", 3)], "c7g.2xlarge", "c7g.4xlarge")).toEqual([set]);
    expect(pinned([group("own", 6, { separate: false })], "c7g.2xlarge")).toEqual([set]);
    expect(pinned([group("own", 6, { separate: false })], "c7g.2xlarge", "c7g.4xlarge")).toEqual([
      { ...set, "node.kubernetes.io/instance-type": "c7g.2xlarge" },
    ]);
  });

  it("say which Sentinels are not beside their servers", () => {
    const { notes, sets } = planMachines(
      [group("shop", 4), group("Sentinels of shop", 5, { label: "shop-sentinel", owner: "shop", cpuMilli: 50 })],
      pools("c7g.2xlarge"),
      undefined,
    );
    expect(sets.map(({ name }) => name)).toEqual(["shop", "shop-sentinel"]);
    expect(notes).toEqual([
      "Sentinels of shop and shop get different machines: on shared machines, some of these pods might find no room, depending on the order in which they are scheduled",
    ]);
  });

  it("hold what their machines have room for", () => {
    const type = machineType("c7g.2xlarge");
    if (type === undefined) throw new Error("no c7g.2xlarge");
    const room = allocatableOn(type, UNTUNED);
    const { sets } = planMachines([bin("seven", 7), bin("one", 1)], pools("c7g.2xlarge"), undefined);
    expect(room.cpuMilli).toBeLessThan(8000);
    expect(sets.map(({ machines }) => machines)).toEqual([{ a: 1 }, { a: 1 }]);
  });
});
