import { type Problem, problemText } from "../../../lib/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planCluster } from "../../../valkey/topology/cluster-plan";
import { describeEksPlan } from "../../../platforms/eks/describe";
import { machineType } from "../../../platforms/eks/offers/machine-types";
import { allocatableOn, UNTUNED } from "../../../platforms/eks/pools/tuning";
import { zoneCapacity, prefixesNeeded } from "../../../platforms/eks/network-plan";
import { type EksPlan, type EksPlanArgs, planEks } from "../../../platforms/eks/plan";
import type { PodGroup } from "../../../platforms/eks/pools/pod-groups";
import { type PoolArgs, POOL_DEFAULTS } from "../../../platforms/eks/pools/pools";
import { pricesOf } from "../../../platforms/eks/offers/prices";
import { testProblems } from "../../support/problems";
import { EKS_ZONES, loadGroup, serverGroup, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import { forAll } from "../../support/properties";

const pool = (instanceTypes: readonly string[], changes: Partial<PoolArgs> = {}): PoolArgs => ({
  instanceTypes,
  tuning: UNTUNED,
  rootVolumeGiB: 20,
  ...changes,
});
const zonesOf = (count: number, region = "us-west-2"): string[] =>
  ["a", "b", "c", "d", "e", "f"].slice(0, count).map((letter) => region + letter);

/**
 * "One billion requests per second": r7g.2xlarge for each server, c7g.16xlarge for each load generator, at any number
 * of shards.
 */
function billion(shards: number, zones: readonly string[], changes: Partial<EksPlanArgs> = {}): EksPlanArgs {
  return {
    ...VALKEY_ON_EKS_PLAN,
    zones,
    pools: { servers: pool(["r7g.2xlarge"]), clients: pool(["c7g.16xlarge"]) },
    groups: [
      serverGroup("billion", {
        shape: { primaries: shards, replicasPerPrimary: 1 },
        zones,
        cpuMilli: 7000,
        memoryMiB: 52 * 1024,
      }),
      loadGroup(Math.ceil((shards * 3) / 4), { zones, cpuMilli: 60_000, memoryMiB: 64 * 1024 }),
    ],
    ...changes,
  };
}

const said = (plan: EksPlan): string[] => plan.problems.map(problemText);
const problemsOf = (changes: Partial<EksPlanArgs>): readonly Problem[] =>
  planEks({ ...VALKEY_ON_EKS_PLAN, ...changes }).problems;
const servers = (types: readonly string[], changes: Partial<PoolArgs> = {}): Partial<EksPlanArgs> => ({
  pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(types, changes) },
});
/** Load generators whose images come from Docker Hub. */
const hubLoad = (count: number): PodGroup =>
  loadGroup(count, { cpuMilli: 2000, images: ["docker.io/valkey/valkey:9.1.2"] });
const total = (plan: EksPlan, what: "servers" | "clients"): number =>
  plan.machines.filter((group) => group.pool === what).reduce((sum, { count }) => sum + count, 0);

describe("planEks", () => {
  it("holds One billion requests per second at its own size in one /16: 2,000 servers, 750 load generators, 65,000 vCPUs", () => {
    const plan = planEks(billion(1000, EKS_ZONES));
    expect(plan.problems).toEqual([]);
    expect([total(plan, "servers"), total(plan, "clients")]).toEqual([2000, 750]);
    expect(plan.quotas.find(({ code }) => code === "L-1216C47A")?.needed).toBe(2000 * 8 + 750 * 64 + 2 * 16);
  });

  it("puts a group that stays together on one machine, beside others as far as there is room, and one that stays apart on several", () => {
    const shards = (name: string, count: number, changes: Partial<PodGroup>): PodGroup =>
      serverGroup(name, {
        shape: { primaries: count, replicasPerPrimary: 0 },
        zones: zonesOf(1),
        memoryMiB: 1024,
        separate: false,
        ...changes,
      });
    const counted = (...groups: PodGroup[]): number =>
      total(
        planEks({
          ...VALKEY_ON_EKS_PLAN,
          pools: { servers: pool(["c7g.16xlarge"], { tuning: { interruptCpus: 0, staticCpus: true } }) },
          groups,
        }),
        "servers",
      );
    // 62 whole CPUs are left of 64.
    expect(counted(shards("a", 32, { together: true }), shards("b", 30, { together: true }))).toBe(1);
    expect(counted(shards("a", 32, { together: true }), shards("b", 31, { together: true }))).toBe(2);
    expect(counted(shards("a", 3, { separate: true }), shards("b", 3, { separate: true }))).toBe(3);
    // Volumes run out before CPUs do.
    expect(counted(shards("a", 32, { volume: { gib: 1, storageClass: "gp3" } }))).toBe(2);
    const refused = planEks({
      ...VALKEY_ON_EKS_PLAN,
      pools: { servers: pool(["c7g.16xlarge"]) },
      groups: [shards("a", 32, { together: true, volume: { gib: 1, storageClass: "gp3" } })],
    });
    expect(said(refused).join()).toMatch(
      /a requests 32000m CPU and 32768 MiB for 32 pods on one machine\. .*and 26 volumes/,
    );
  });

  it("gives each group the type that it names", () => {
    const group = (name: string, instanceType: string): PodGroup =>
      serverGroup(name, {
        shape: { primaries: 1, replicasPerPrimary: 0 },
        zones: zonesOf(1),
        memoryMiB: 1024,
        instanceType,
      });
    const plan = planEks({
      ...VALKEY_ON_EKS_PLAN,
      pools: { servers: pool(["m7g.2xlarge", "m7g.4xlarge"]) },
      groups: [group("a", "m7g.4xlarge"), group("b", "m7g.2xlarge")],
    });
    expect(
      plan.machines.filter((machines) => machines.pool === "servers").map(({ type, count }) => [type, count]),
    ).toEqual([
      ["m7g.4xlarge", 1],
      ["m7g.2xlarge", 1],
    ]);
  });

  it("is placeable and zone-safe, or refused with a reason, at any number of shards and zones", () => {
    forAll(
      [
        fc.integer({ min: 3, max: 1000 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        fc.constantFrom("10.0.0.0/16", "10.0.0.0/20", "10.0.0.0/22"),
        fc.constantFrom("us-west-2", "us-east-1"),
      ],
      { numRuns: 60 },
      (shards, zoneCount, alone, cidr, region) => {
        const zones = zonesOf(zoneCount, region);
        const args = billion(shards, zones, { region, network: { existing: false, cidr, nat: "one" } });
        const groups = args.groups.map((group) => ({ ...group, alone }));
        const plan = planEks({ ...args, groups });
        // EKS needs two zones. The region us-west-2 has four, and the zones of us-east-1 are not known. All other plans
        // that are refused are too large.
        expect(plan.problems.some(({ path }) => path === "zones")).toBe(
          zoneCount === 1 || (region === "us-west-2" && zoneCount > 4),
        );
        if (plan.problems.length > 0) {
          for (const text of said(plan))
            expect(text).toMatch(
              /^(zones: .*(EKS needs subnets in 2|more than us-west-2 has)|network\.cidr: .*(at least a \/\d\d|plan for fewer machines(, or for .* zones)?)$)/,
            );
          return;
        }
        checkPlaceable(plan, groups);
        for (const { pods } of groups) {
          const counts = zones.map((zone) => pods.filter((pod) => pod.zone === zone).length);
          // As the pods' spread over zones has it.
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        }
        const servers = groups[0]?.pods ?? [];
        const clusterPlan = planCluster(servers, { primaries: shards, replicasPerPrimary: 1 });
        expect(clusterPlan.warnings).toEqual([]);
        checkSurvivesAnyZone(clusterPlan.shards, servers, zones);
      },
    );
  }, 60_000);

  it("refuses a network exactly when the busiest zone does not fit it, and names one that does", () => {
    forAll(
      [fc.integer({ min: 3, max: 1000 }), fc.integer({ min: 2, max: 4 }), fc.integer({ min: 16, max: 24 })],
      { numRuns: 60 },
      (shards, zoneCount, mask) => {
        const plan = planEks(
          billion(shards, zonesOf(zoneCount), { network: { existing: false, cidr: `10.0.0.0/${mask}`, nat: "one" } }),
        );
        const refusal = plan.problems.find(({ path }) => path === "network.cidr");
        const demand = busiest(plan);
        const capacity = plan.network === undefined ? { machines: 0, prefixes: 0 } : zoneCapacity(plan.network);
        expect(refusal === undefined).toBe(
          demand.machines <= capacity.machines && demand.prefixes <= capacity.prefixes,
        );
        const advised = /at least a \/(\d+)/.exec(refusal?.message ?? "")?.[1];
        if (refusal === undefined || advised === undefined) return;
        const again = planEks(
          billion(shards, zonesOf(zoneCount), {
            network: { existing: false, cidr: `10.0.0.0/${advised}`, nat: "one" },
          }),
        );
        expect(again.problems).toEqual([]);
      },
    );
  }, 60_000);

  testProblems("../problems.txt", problemsOf, [
    ["too-few-zones zones", { zones: zonesOf(1), groups: [] }],
    ["too-many-zones zones", { zones: zonesOf(5), groups: [] }],
    ["zone-twice zones", { zones: ["us-west-2a", "us-west-2a"], groups: [] }],
    ["unknown-type pools.servers.instanceTypes.0", servers(["r7g.huge"])],
    ["unknown-type pools.servers.instanceTypes.0", servers(["r7gn.large"])],
    [
      "unknown-type pools.clients.instanceTypes.0",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, clients: pool(["m7gn.xlarge"]) } },
    ],
    ["no-price pools.servers.instanceTypes.0", servers(["m8gn.metal-24xl"])],
    ["two-architectures pools.servers.instanceTypes", servers(["r7g.large", "r7i.large", "r8g.large"])],
    ["servers-on-spot pools.servers.capacity", servers(["r7g.large"], { capacity: "spot" })],
    ["no-room pools.servers.instanceTypes", servers(["r7g.medium"])],
    ["no-such-pool pools.clients", { pools: { servers: VALKEY_ON_EKS_PLAN.pools.servers ?? pool([]) } }],
    [
      "interrupts-on-every-cpu pools.servers.tuning.interruptCpus",
      servers(["r7g.large"], { tuning: { interruptCpus: 2, staticCpus: false } }),
    ],
    [
      "type-in-too-few-zones zones",
      { zones: zonesOf(4), pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r8gn.large"]) } },
    ],
    ["too-few-machines system.machines", { system: { instanceType: "m7g.large", machines: 1 } }],
    ["unknown-type system.instanceType", { system: { instanceType: "t4g.small", machines: 2 } }],
    ["network-too-small network.cidr", { network: { existing: false, cidr: "10.0.0.0/24", nat: "one" } }],
    ["network-too-small network.cidr", { network: { existing: false, cidr: "10.0.0.0/8", nat: "one" } }],
    ["no-image-cache imageCache", { pools: { clients: POOL_DEFAULTS.clients }, groups: [hubLoad(100)] }],
    ["no-room system.instanceType", { otherMachines: 2750, system: { instanceType: "m7g.large", machines: 2 } }],
    ["no-room system.instanceType", { otherMachines: 900, system: { instanceType: "c8g.large", machines: 10 } }],
    ["no-price system.instanceType", { system: { instanceType: "m8gn.metal-24xl", machines: 2 } }],
  ]);

  it("names numbers of zones that do fit where no network is large enough, and they do", () => {
    const told = (zoneCount: number, region?: string): string | undefined =>
      said(
        planEks(billion(1000, zonesOf(zoneCount, region), { ...(region === undefined ? {} : { region }) })),
      )[0]?.split("plan for fewer machines")[1];
    expect(told(4)).toBe(", or for 3 zones");
    expect(told(2, "us-east-1")).toBe(", or for 3 or 6 zones");
    expect([told(3), told(6, "us-east-1")]).toEqual([undefined, undefined]);
  });

  it("says everything at once", () => {
    const plan = planEks({
      ...VALKEY_ON_EKS_PLAN,
      zones: zonesOf(1),
      system: { instanceType: "t1.micro", machines: 1 },
      pools: { servers: pool(["r9.large"]) },
      network: { existing: false, cidr: "10.0.0.0/28", nat: "one" },
    });
    const paths = ["zones", "system.machines", "system.instanceType", "pools.servers", "pools.clients", "network.cidr"];
    for (const path of paths) expect(plan.problems.map((each) => each.path).join()).toContain(path);
  });

  it("says when a region has no prices, and plans all the same", () => {
    const plan = planEks({
      ...VALKEY_ON_EKS_PLAN,
      region: "eu-west-1",
      zones: ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
    });
    expect(plan.problems).toEqual([]);
    expect(plan.cost.usdPerHour).toBeUndefined();
    expect(describeEksPlan(plan)).toContain("cost: not known");
    expect(plan.cost.notCounted[0]).toBe("everything: there are no prices for eu-west-1");
    expect(plan.notes[0]).toMatch(/there are no prices for eu-west-1.*regions with prices: us-west-2/);
  });

  it("is told in words", () => {
    const plan = planEks(VALKEY_ON_EKS_PLAN);
    expect(plan.problems).toEqual([]);
    expect(describeEksPlan(plan)).toMatchSnapshot();
  });
});

function busiest(plan: EksPlan): { machines: number; prefixes: number } {
  const of = (zone: string) => plan.machines.filter((group) => group.zone === zone);
  return {
    machines: Math.max(...plan.zones.map((zone) => of(zone).reduce((sum, { count }) => sum + count, 0))),
    prefixes: Math.max(
      ...plan.zones.map((zone) =>
        of(zone).reduce((sum, { count, podAddresses }) => sum + count * prefixesNeeded(podAddresses), 0),
      ),
    ),
  };
}

/**
 * By counting, not by placing again: each zone's machines have room for its pods in all, and the network for the
 * machines.
 */
function checkPlaceable(plan: EksPlan, groups: EksPlanArgs["groups"]): void {
  for (const group of groups) {
    for (const zone of plan.zones) {
      const pods = group.pods.filter((pod) => pod.zone === zone).length;
      const machines = plan.machines.filter((each) => each.pool === group.pool && each.zone === zone);
      const count = machines.reduce((sum, each) => sum + each.count, 0);
      const type = machineType(machines[0]?.type ?? "");
      if (pods === 0) {
        expect(count).toBe(0);
        continue;
      }
      if (type === undefined) throw new Error(`${group.name} has ${pods} pods in ${zone} and no machine there`);
      const room = allocatableOn(type, UNTUNED);
      const perMachine = group.separate
        ? 1
        : Math.min(Math.floor(room.cpuMilli / group.cpuMilli), Math.floor(room.memoryMiB / group.memoryMiB), room.pods);
      expect(count).toBe(Math.ceil(pods / perMachine));
    }
  }
  if (plan.network === undefined) throw new Error("no network");
  const [demand, capacity] = [busiest(plan), zoneCapacity(plan.network)];
  expect(demand.machines).toBeLessThanOrEqual(capacity.machines);
  expect(demand.prefixes).toBeLessThanOrEqual(capacity.prefixes);
}

/** Whatever zone is lost, every shard has a node left. */
function checkSurvivesAnyZone(
  shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[],
  servers: readonly { readonly name: string; readonly zone: string }[],
  zones: readonly string[],
): void {
  const zoneOf = new Map(servers.map(({ name, zone }) => [name, zone]));
  for (const lost of zones)
    for (const { primary, replicas } of shards)
      expect([primary, ...replicas].some((node) => zoneOf.get(node) !== lost)).toBe(true);
}

describe("load generators on spot machines", () => {
  const spot = (capacity: "spot" | "on-demand"): EksPlan =>
    planEks({
      ...VALKEY_ON_EKS_PLAN,
      pools: { ...VALKEY_ON_EKS_PLAN.pools, clients: { ...POOL_DEFAULTS.clients, capacity } },
    });

  it("are the same machines, cost at most what they cost on demand, and need a quota of their own", () => {
    const [plan, onDemand] = [spot("spot"), spot("on-demand")];
    expect(plan.problems).toEqual([]);
    expect(plan.machines).toEqual(onDemand.machines);
    expect(plan.cost.usdPerHour).toBe(onDemand.cost.usdPerHour);
    expect(plan.cost.lines.map(({ what }) => what)).toContain("c7gn.xlarge (clients, spot, at the on-demand price)");
    const vcpus = ({ quotas }: EksPlan): unknown[] =>
      ["L-1216C47A", "L-34B43A08"].map((code) => quotas.find((each) => each.code === code)?.needed);
    expect([vcpus(plan), vcpus(onDemand)]).toEqual([
      [24, 4],
      [28, undefined],
    ]);
    expect(plan.notes.filter((note) => note.includes("spot"))).toHaveLength(1);
    expect(onDemand.notes.filter((note) => note.includes("spot"))).toEqual([]);
  });
});

describe("the price table of us-west-2", () => {
  it("has a date, sources, and only machines whose hardware is known", () => {
    const table = pricesOf("us-west-2");
    expect(table?.sources.length).toBeGreaterThan(0);
    for (const type of Object.keys(table?.machines ?? {})) expect(machineType(type), type).toBeDefined();
  });

  it("has what the studies run on: servers and clients of every document", () => {
    const types = "r7g.large r7g.2xlarge c7g.16xlarge m7g.2xlarge m7g.4xlarge c7gn.4xlarge c7gn.metal r8gn.large";
    for (const type of [...types.split(" "), "m7g.large"])
      expect(pricesOf("us-west-2")?.machines[type], type).toBeDefined();
  });

  it("knows no region without a table", () => {
    expect(pricesOf("moon-1")).toBeUndefined();
  });
});
