import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planCluster } from "../../../valkey/topology/cluster-plan";
import { describeEksPlan } from "../../../platforms/eks/describe";
import { machineType } from "../../../platforms/eks/offers/machine-types";
import { allocatableOn } from "../../../platforms/eks/pools/allocatable";
import { UNTUNED } from "../../../platforms/eks/pools/tuning";
import { zoneCapacity, prefixesNeeded } from "../../../platforms/eks/network-plan";
import type { EksPlan, EksPlanArgs } from "../../../platforms/eks/plan";
import { planEks } from "../../../platforms/eks/plan";
import { clientPodGroup, serverPodGroup } from "../../../platforms/eks/pools/pod-groups";
import type { PoolArgs } from "../../../platforms/eks/pools/pools";
import { POOL_DEFAULTS } from "../../../platforms/eks/pools/pools";
import { pricesOf } from "../../../platforms/eks/offers/prices";
import { VALKEY_ON_EKS_PLAN, EKS_ZONES } from "../../support/pulumi/eks";

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
      serverPodGroup({
        name: "billion",
        pool: "servers",
        shape: { primaries: shards, replicasPerPrimary: 1 },
        zones,
        cpuMilli: 7000,
        memoryMiB: 52 * 1024,
        separate: true,
      }),
      clientPodGroup({
        name: "load",
        pool: "clients",
        count: Math.ceil((shards * 3) / 4),
        zones,
        cpuMilli: 60_000,
        memoryMiB: 64 * 1024,
        separate: true,
      }),
    ],
    ...changes,
  };
}

const said = (plan: EksPlan): string[] => plan.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
const total = (plan: EksPlan, what: "servers" | "clients"): number =>
  plan.machines.filter((group) => group.pool === what).reduce((sum, { count }) => sum + count, 0);

describe("planEks", () => {
  it("gives Valkey on EKS its ten servers, spread over three zones, a client machine and two system machines", () => {
    const plan = planEks(VALKEY_ON_EKS_PLAN);
    expect(plan.problems).toEqual([]);
    expect(total(plan, "servers")).toBe(10);
    expect(
      plan.machines.filter((group) => group.pool === "servers").map(({ zone, type, count }) => [zone, type, count]),
    ).toEqual([
      ["us-west-2a", "r7g.large", 4],
      ["us-west-2b", "r7g.large", 3],
      ["us-west-2c", "r7g.large", 3],
    ]);
    expect(plan.machines.filter((group) => group.pool === "system").map(({ zone, count }) => [zone, count])).toEqual([
      ["us-west-2a", 1],
      ["us-west-2b", 1],
    ]);
    expect(plan.quotas.find(({ code }) => code === "L-1216C47A")?.needed).toBe(10 * 2 + 4 + 2 * 2);
    expect(plan.volumes).toEqual({ count: 10, gib: 500 });
  });

  it("holds One billion requests per second at its own size in one /16: 2,000 servers, 750 load generators, 65,000 vCPUs", () => {
    const plan = planEks(billion(1000, EKS_ZONES));
    expect(plan.problems).toEqual([]);
    expect([total(plan, "servers"), total(plan, "clients")]).toEqual([2000, 750]);
    expect(plan.quotas.find(({ code }) => code === "L-1216C47A")?.needed).toBe(2000 * 8 + 750 * 64 + 2 * 16);
  });

  it("puts a group that stays together on one machine, beside others as far as there is room, and one that stays apart on several", () => {
    const shards = (
      name: string,
      count: number,
      changes: Partial<EksPlanArgs["groups"][number]>,
    ): EksPlanArgs["groups"][number] =>
      serverPodGroup({
        name,
        pool: "servers",
        shape: { primaries: count, replicasPerPrimary: 0 },
        zones: zonesOf(1),
        cpuMilli: 1000,
        memoryMiB: 1024,
        separate: false,
        ...changes,
      });
    const counted = (...groups: EksPlanArgs["groups"][number][]): number =>
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
    const group = (name: string, instanceType: string): EksPlanArgs["groups"][number] =>
      serverPodGroup({
        name,
        pool: "servers",
        shape: { primaries: 1, replicasPerPrimary: 0 },
        zones: zonesOf(1),
        cpuMilli: 1000,
        memoryMiB: 1024,
        separate: true,
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
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 1000 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        fc.constantFrom("10.0.0.0/16", "10.0.0.0/20", "10.0.0.0/22"),
        fc.constantFrom("us-west-2", "us-east-1"),
        (shards, zoneCount, alone, cidr, region) => {
          const zones = zonesOf(zoneCount, region);
          const args = billion(shards, zones, { region, network: { existing: false, cidr, nat: "one" } });
          const groups = args.groups.map((group) => ({ ...group, alone }));
          const plan = planEks({ ...args, groups });
          // EKS wants two zones; us-west-2 has four, and of us-east-1 there is no table. Anything else that is refused
          // is refused for its size.
          expect(plan.problems.some(({ path }) => path[0] === "zones")).toBe(
            zoneCount === 1 || (region === "us-west-2" && zoneCount > 4),
          );
          if (plan.problems.length > 0) {
            for (const { path, message } of plan.problems)
              expect(`${path.join(".")}: ${message}`).toMatch(
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
      ),
      { numRuns: 60 },
    );
  }, 60_000);

  it("refuses a network exactly when the busiest zone does not fit it, and names one that does", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 1000 }),
        fc.integer({ min: 2, max: 4 }),
        fc.integer({ min: 16, max: 24 }),
        (shards, zoneCount, mask) => {
          const plan = planEks(
            billion(shards, zonesOf(zoneCount), { network: { existing: false, cidr: `10.0.0.0/${mask}`, nat: "one" } }),
          );
          const refusal = plan.problems.find(({ path }) => path.join(".") === "network.cidr");
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
      ),
      { numRuns: 60 },
    );
  }, 60_000);

  it.each<[string, Partial<EksPlanArgs>, RegExp]>([
    [
      "one zone",
      { zones: zonesOf(1), groups: [] },
      /^zones: expected at least 2 zones: EKS needs subnets in 2 zones, and one zone cannot keep replicas apart/,
    ],
    [
      "more zones than the region has",
      { zones: zonesOf(5), groups: [] },
      /^zones: 5 zones are more than us-west-2 has; expected at most 4/,
    ],
    ["a zone twice", { zones: ["us-west-2a", "us-west-2a"], groups: [] }, /^zones: a zone is named twice/],
    [
      "a type that is not in the table",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r7g.huge"]) } },
      /^pools\.servers\.instanceTypes\.0: r7g\.huge is not in the table of machine types; sizes of r7g in the table: r7g\.medium, r7g\.large/,
    ],
    [
      "a family that AWS does not have",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r7gn.large"]) } },
      /^pools\.servers\.instanceTypes\.0: r7gn\.large does not exist: EC2 has 1,437 machine types, but no family r7gn; known families: r6a, r6g, .*r8gn/,
    ],
    [
      "another one",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, clients: pool(["m7gn.xlarge"]) } },
      /^pools\.clients\.instanceTypes\.0: m7gn\.xlarge does not exist: /,
    ],
    [
      "a type without a price",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["m8gn.metal-24xl"]) } },
      /^pools\.servers\.instanceTypes\.0: the prices of \d{4}-\d\d-\d\d for us-west-2 do not contain m8gn\.metal-24xl; types with a price: m8gn.medium, m8gn.large, /,
    ],
    [
      "a pool of both architectures",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r7g.large", "r7i.large", "r8g.large"]) } },
      /^pools\.servers\.instanceTypes: the types have two architectures, arm64 \(r7g\.large, r8g\.large\) and amd64 \(r7i\.large\); expected one architecture$/,
    ],
    [
      "servers on spot machines",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r7g.large"], { capacity: "spot" }) } },
      /^pools\.servers\.capacity: AWS may take spot machines away from servers with a notice of two minutes; expected on-demand$/,
    ],
    [
      "a pod too large for any type",
      { pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r7g.medium"]) } },
      /^pools\.servers\.instanceTypes: no type has room for every pod: replication requests 1000m CPU and 12288 MiB.*r7g\.medium 760m CPU and 6955 MiB/,
    ],
    [
      "a pool that is missing",
      { pools: { servers: VALKEY_ON_EKS_PLAN.pools.servers ?? pool([]) } },
      /^pools\.clients: the pool is missing, but load must run in it/,
    ],
    [
      "interrupts on every CPU",
      {
        pools: {
          ...VALKEY_ON_EKS_PLAN.pools,
          servers: pool(["r7g.large"], { tuning: { interruptCpus: 2, staticCpus: false } }),
        },
      },
      /^pools\.servers\.tuning\.interruptCpus: r7g\.large has 2 CPUs, so 2 CPUs for interrupts leave no CPU for Valkey; expected at most 1/,
    ],
    [
      "a type offered in too few zones",
      { zones: zonesOf(4), pools: { ...VALKEY_ON_EKS_PLAN.pools, servers: pool(["r8gn.large"]) } },
      /^zones: r8gn\.large is offered in 3 zones of us-west-2, but 4 zones are planned; expected at most 3 zones, or a different type/,
    ],
    [
      "one system machine",
      { system: { instanceType: "m7g.large", machines: 1 } },
      /^system\.machines: expected at least 2, not 1: Karpenter has two replicas, and each needs a machine/,
    ],
    [
      "a system type that is not in the table",
      { system: { instanceType: "t4g.small", machines: 2 } },
      /^system\.instanceType: t4g\.small is not in the table of machine types, and the table has no other type of the family t4g; known families: c6a, /,
    ],
    [
      "a network too small",
      { network: { existing: false, cidr: "10.0.0.0/24", nat: "one" } },
      /^network\.cidr: 10\.0\.0\.0\/24 has room for 0 machines.*in each of 3 zones, but \d+ machines with \d+ prefixes are planned in the busiest zone; expected at least a \/\d\d/,
    ],
    [
      "a network larger than AWS allows",
      { network: { existing: false, cidr: "10.0.0.0/8", nat: "one" } },
      /^network\.cidr: 10\.0\.0\.0\/8 is too small for subnets in 3 zones/,
    ],
  ])("refuses %s and says what would do", (_what, changes, message) => {
    const found = said(planEks({ ...VALKEY_ON_EKS_PLAN, ...changes }));
    expect(
      found.some((problem) => message.test(problem)),
      found.join("\n"),
    ).toBe(true);
  });

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
    const found = said(
      planEks({
        ...VALKEY_ON_EKS_PLAN,
        zones: zonesOf(1),
        system: { instanceType: "t1.micro", machines: 1 },
        pools: { servers: pool(["r9.large"]) },
        network: { existing: false, cidr: "10.0.0.0/28", nat: "one" },
      }),
    );
    for (const pattern of [
      /^zones/,
      /^system\.machines/,
      /^system\.instanceType/,
      /^pools\.servers/,
      /^pools\.clients/,
      /^network\.cidr/,
    ])
      expect(
        found.some((problem) => pattern.test(problem)),
        String(pattern),
      ).toBe(true);
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
    expect(describeEksPlan(planEks(VALKEY_ON_EKS_PLAN))).toMatchSnapshot();
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
    for (const type of [
      "r7g.large",
      "r7g.2xlarge",
      "c7g.16xlarge",
      "m7g.2xlarge",
      "m7g.4xlarge",
      "c7gn.4xlarge",
      "c7gn.metal",
      "r8gn.large",
      "m7g.large",
    ])
      expect(pricesOf("us-west-2")?.machines[type], type).toBeDefined();
  });

  it("knows no region without a table", () => {
    expect(pricesOf("moon-1")).toBeUndefined();
  });
});
