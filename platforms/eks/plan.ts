/** The plan of a stack on EKS: machines, network, cost and quotas, or every reason why the plan is impossible. */
import { type Problem, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import { type BackupBucketArgs, type BackupBucketPlan, backupBucketProblems, planBackupBucket } from "./backup-bucket";
import { isSpot, SPOT_NOTE, type Pools } from "./pools/pools";
import { type Cost, costOf } from "./cost";
import { type MachineGroup, planMachines } from "./pools/machine-plan";
import type { MachineSet } from "./pools/machine-sets";
import { machineType } from "./offers/machine-types";
import type { NetworkPlan, ZoneDemand } from "./network-plan";
import { zoneCapacity, planNetwork, prefixesNeeded, smallestMaskFor } from "./network-plan";
import type { PodGroup } from "./pools/pod-groups";
import { poolProblems } from "./pools/pool-problems";
import { type PriceTable, PRICED_REGIONS, pricesOf } from "./offers/prices";
import { type QuotaNeed, quotaNeeds } from "./quotas";
import { type ControlPlanePlan, type ControlPlaneTier, planControlPlane } from "./offers/control-plane";
import { type ImageCacheArgs, type ImagePlan, imageProblems, planImages } from "./scale/image-pulls";
import { type PolicyPeers, planPolicyPeers, policyNotes } from "./scale/policy-peers";
import type { SystemArgs, SystemPlan } from "./scale/system-machines";
import { planSystem, systemPodAddresses, systemProblems } from "./scale/system-machines";

/**
 * NAT gateways. `one` gateway for the network is cheaper. `perZone` creates a gateway in each zone, so that the network
 * survives the loss of a zone. At least one gateway is needed, because Karpenter calls EC2 and IAM, and machines pull
 * images.
 */
export const NAT_STRATEGIES = ["one", "perZone"] as const;
export type NatStrategy = (typeof NAT_STRATEGIES)[number];

/** Amazon S3 is left out, because its gateway endpoint is free. */
export const INTERFACE_ENDPOINTS = ["ecr.api", "ecr.dkr", "sts"] as const;

export interface EksPlanArgs {
  /** Region, such as `us-west-2`. */
  readonly region: string;
  /** Names of the zones, in the order in which nodes are placed. */
  readonly zones: readonly string[];
  readonly network:
    | { readonly existing: true }
    | { readonly existing: false; readonly cidr: string; readonly nat: NatStrategy };
  readonly system: SystemArgs;
  readonly pools: Pools;
  readonly groups: readonly PodGroup[];
  /** Number of machines for pods that do not belong to any of `groups`. @default 0 */
  readonly otherMachines?: number | undefined;
  /** Tier of the control plane. @default the tier that the numbers of machines and pods need */
  readonly controlPlaneTier?: ControlPlaneTier | undefined;
  /** Cache for images of Docker Hub that the stack creates. @default none */
  readonly imageCache?: ImageCacheArgs | undefined;
  /** Bucket for backups of the deployments on the platform. @default none */
  readonly backups?: BackupBucketArgs | undefined;
  /** Names of the deployments that write to the bucket, as far as they are known. @default none */
  readonly backedUp?: readonly string[] | undefined;
  /** Whether the stack creates a KMS key. */
  readonly ownKey: boolean;
}

export interface EksPlan {
  readonly region: string;
  readonly zones: readonly string[];
  readonly machines: readonly MachineGroup[];
  readonly system: SystemPlan;
  /** Machines of the pools, in sets. Each set of machines runs the pods of certain groups only. */
  readonly sets: readonly MachineSet[];
  /** Plan of the network; undefined for an existing network. */
  readonly network: NetworkPlan | undefined;
  readonly controlPlane: ControlPlanePlan;
  readonly policies: PolicyPeers;
  readonly images: ImagePlan;
  /** Bucket for backups; null without one. */
  readonly backups: BackupBucketPlan | null;
  readonly volumes: { readonly count: number; readonly gib: number };
  readonly quotas: readonly QuotaNeed[];
  readonly cost: Cost;
  /** Notes about limits of the plan that a user should know. */
  readonly notes: readonly string[];
  /** Every reason why the plan is impossible; empty if it is possible. */
  readonly problems: readonly Problem[];
}

export const SYSTEM_ROOT_GIB = 20;

/** EKS needs subnets in at least two zones, and no region has more than six zones. */
const MIN_ZONES = 2;
const MAX_ZONES = 6;

/** Plans a stack on EKS. Pure. The result contains every reason why the plan is impossible, as problems. */
export function planEks(args: EksPlanArgs): EksPlan {
  const { region, zones, network: wanted, pools, groups } = args;
  const prices = pricesOf(region);
  const pods = planMachines(groups, pools, prices);
  const started = pods.machines.reduce((sum, { count }) => sum + count, args.otherMachines ?? 0);
  const system = planSystem(args.system, started, prices);
  const machines = [...systemMachines(system, zones), ...pods.machines];
  // The NAT addresses of an existing network are not known here, so one is assumed.
  const addresses = wanted.existing ? "one" : wanted.nat;
  const podCount = groups.reduce((sum, group) => sum + group.pods.length, 0);
  const controlPlane = planControlPlane(started + system.machines, podCount, args.controlPlaneTier);
  const policies = planPolicyPeers(podCount, wanted.existing ? undefined : wanted.cidr);
  const images = planImages(groups, pods.machines, addresses, args.imageCache);
  const network = wanted.existing ? undefined : planNetwork(wanted.cidr, Math.max(1, zones.length));
  const rootVolumeGib = (pool: MachineGroup["pool"]): number =>
    pool === "system" ? SYSTEM_ROOT_GIB : (pools[pool]?.rootVolumeGiB ?? 0);
  const natGateways = wanted.existing ? 0 : wanted.nat === "one" ? 1 : zones.length;
  const endpointZones = wanted.existing ? 0 : INTERFACE_ENDPOINTS.length * zones.length;
  const gib = groups.reduce((sum, group) => sum + (group.volume?.gib ?? 0) * group.pods.length, 0);
  const rootGib = machines.reduce((sum, { pool, count }) => sum + count * rootVolumeGib(pool), 0);
  return {
    region,
    zones,
    machines,
    system,
    sets: pods.sets,
    network,
    controlPlane,
    policies,
    images,
    backups: args.backups === undefined ? null : planBackupBucket(args.backups, args.backedUp ?? []),
    volumes: {
      count: groups.reduce((sum, group) => sum + (group.volume === undefined ? 0 : group.pods.length), 0),
      gib,
    },
    quotas: quotaNeeds({
      machines,
      isSpot: (pool) => isSpot(pools, pool),
      volumeGib: gib + rootGib,
      natGateways: { total: natGateways, perZone: Math.min(1, natGateways) },
      otherInterfaces: endpointZones + natGateways + 2 * zones.length,
    }),
    cost: costOf({
      region,
      prices,
      machines,
      groups,
      isSpot: (pool) => isSpot(pools, pool),
      rootVolumeGib,
      natGateways,
      endpointZones,
      kmsKeys: args.ownKey ? 1 : 0,
      controlPlaneTier: controlPlane.tier,
      hasBackups: args.backups !== undefined,
    }),
    notes: [...notesOf(args, prices), ...policyNotes(policies), ...pods.notes],
    problems: [
      ...zoneProblems(args, machines, prices),
      ...systemProblems(system, prices),
      ...poolProblems(pools, prices),
      ...pods.problems,
      ...imageProblems(images),
      ...backupBucketProblems(args.backups, region),
      ...networkProblems(args, network, machines, prices?.zones ?? MAX_ZONES),
    ],
  };
}

function systemMachines(system: SystemPlan, zones: readonly string[]): MachineGroup[] {
  const { instanceType, machines } = system;
  const vcpus = machineType(instanceType)?.vcpus ?? 0;
  // A managed node group spreads its machines evenly over its zones.
  return zones.slice(0, machines).map((zone, index) => ({
    pool: "system",
    type: instanceType,
    zone,
    count: Math.ceil((machines - index) / zones.length),
    vcpus,
    podAddresses: systemPodAddresses(system),
  }));
}

function notesOf({ region, network, pools }: EksPlanArgs, prices: PriceTable | undefined): string[] {
  return compact([
    prices === undefined
      ? `there are no prices for ${region}: the cost is unknown, and only AWS can tell which machine types the region offers; regions with prices: ${PRICED_REGIONS.join(", ")}`
      : undefined,
    network.existing
      ? "the free addresses of the existing network are unknown; each machine takes one address, and the pods of a machine take a /28 or more"
      : undefined,
    isSpot(pools, "clients") ? SPOT_NOTE : undefined,
    !network.existing && network.nat === "one"
      ? "one NAT gateway: when its zone fails, machines in the other zones cannot reach anything outside the network"
      : undefined,
  ]);
}

function zoneProblems(
  { region, zones }: EksPlanArgs,
  machines: readonly MachineGroup[],
  prices: PriceTable | undefined,
): Problem[] {
  const problems: Problem[] = [];
  const refuse = (code: string, message: string): void => {
    problems.push(problem(code, "zones", message));
  };
  if (zones.length < MIN_ZONES)
    refuse(
      "too-few-zones",
      `expected at least ${MIN_ZONES} zones: EKS needs subnets in ${MIN_ZONES} zones, and one zone cannot keep replicas apart from their primaries`,
    );
  if (new Set(zones).size < zones.length) refuse("zone-twice", "a zone is named twice");
  if (prices === undefined) return problems;
  if (zones.length > prices.zones)
    refuse("too-many-zones", `${zones.length} zones are more than ${region} has; expected at most ${prices.zones}`);
  for (const type of new Set(machines.map((group) => group.type))) {
    const offered = prices.machines[type]?.zones;
    if (offered !== undefined && offered < Math.min(zones.length, prices.zones))
      refuse(
        "type-in-too-few-zones",
        `${type} is offered in ${offered} zones of ${region}, but ${zones.length} zones are planned; expected at most ${offered} zones, or a different type`,
      );
  }
  return problems;
}

function networkProblems(
  { zones, network: wanted }: EksPlanArgs,
  plan: NetworkPlan | undefined,
  machines: readonly MachineGroup[],
  most: number,
): Problem[] {
  if (wanted.existing) return [];
  const busiest = demandOf(machines);
  const capacity = plan === undefined ? undefined : zoneCapacity(plan);
  if (capacity !== undefined && busiest.machines <= capacity.machines && busiest.prefixes <= capacity.prefixes)
    return [];
  const mask = smallestMaskFor(busiest, Math.max(1, zones.length));
  const advice =
    mask === undefined
      ? `even the largest network that AWS allows (a /16) is too small: plan for fewer machines${otherZones(machines, zones.length, most)}`
      : `expected at least a /${mask}`;
  const has =
    capacity === undefined
      ? `is too small for subnets in ${zones.length} zones`
      : `has room for ${capacity.machines} machines and ${capacity.prefixes} prefixes of 16 addresses in each of ${zones.length} zones`;
  const needed = `${busiest.machines} machines with ${busiest.prefixes} prefixes are planned in the busiest zone`;
  return [problem("network-too-small", "network.cidr", `${wanted.cidr} ${has}, but ${needed}; ${advice}`)];
}

/** Sizes of subnets are powers of two, so a network divided into more zones may have space for fewer machines. */
function otherZones(machines: readonly MachineGroup[], zones: number, most: number): string {
  const all = [...demandByZone(machines).values()].reduce(
    (sum, each) => ({ machines: sum.machines + each.machines, prefixes: sum.prefixes + each.prefixes }),
    { machines: 0, prefixes: 0 },
  );
  const fitting = Array.from({ length: most - 1 }, (_, index) => index + MIN_ZONES).filter(
    (count) =>
      count !== zones &&
      smallestMaskFor(
        { machines: Math.ceil(all.machines / count) + 1, prefixes: Math.ceil(all.prefixes / count) + 1 },
        count,
      ) !== undefined,
  );
  return fitting.length === 0 ? "" : `, or for ${fitting.join(" or ")} zones`;
}

export function demandByZone(machines: readonly MachineGroup[]): Map<string, ZoneDemand> {
  const zones = new Map<string, ZoneDemand>();
  for (const { zone, count, podAddresses } of machines) {
    const sum = zones.get(zone) ?? { machines: 0, prefixes: 0 };
    zones.set(zone, { machines: sum.machines + count, prefixes: sum.prefixes + count * prefixesNeeded(podAddresses) });
  }
  return zones;
}

function demandOf(machines: readonly MachineGroup[]): ZoneDemand {
  const zones = [...demandByZone(machines).values()];
  return {
    machines: Math.max(0, ...zones.map((each) => each.machines)),
    prefixes: Math.max(0, ...zones.map((each) => each.prefixes)),
  };
}
