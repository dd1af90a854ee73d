import { type Problem, BadInput, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import { machineType } from "../../platforms/eks/offers/machine-types";
import { type EksPlan, type EksPlanArgs, type NatStrategy, planEks } from "../../platforms/eks/plan";
import type { PodGroup } from "../../platforms/eks/pools/pod-groups";
import { limitProblems } from "../../platforms/eks/pools/pool-problems";
import { type PoolName, type Pools, type PoolSettings, completePools, POOLS } from "../../platforms/eks/pools/pools";
import { type PublicAccess, publicAccessProblem } from "../../platforms/eks/public-access";
import type { SystemArgs } from "../../platforms/eks/scale/system-machines";
import type { EksClusterArgs } from "./cluster";
import type { ExistingNetworkArgs } from "./network";

interface OwnNetworkSettings {
  /** CIDR block of the whole network, from /16 to /26. @default 10.0.0.0/16 */
  readonly cidr?: string | undefined;
  /**
   * NAT gateways. `one` gateway for the whole network is cheaper. `perZone` creates one gateway in each zone, so the
   * network survives the loss of a zone.
   * @default one
   */
  readonly nat?: NatStrategy | undefined;
  /** Whether connections are logged. The logs are kept for 7 days. @default false */
  readonly flowLogs?: boolean | undefined;
}

/** Arguments of an `EksPlatform`. All are plain values, because they decide which resources exist. */
export interface EksPlatformArgs
  extends
    Pick<EksPlanArgs, "region" | "zones" | "controlPlaneTier" | "imageCache" | "backups">,
    Partial<
      Pick<
        EksClusterArgs,
        "clusterName" | "access" | "keyArn" | "logRetentionInDays" | "takesOverLogGroup" | "deletionProtection" | "tags"
      >
    > {
  /** Settings of the network that the platform creates. @default the default of each setting */
  readonly network?: OwnNetworkSettings | undefined;
  /** Existing network that the platform uses instead of creating one. @default none */
  readonly existingNetwork?: ExistingNetworkArgs | undefined;
  /** Pools of machines for servers, clients and other pods. @default `servers` and `clients` with their defaults */
  readonly pools?: PoolSettings | undefined;
  /**
   * Pods that run on the pools. Each pool gets the size that its pods need.
   * @default unknown. Then each pool needs a `vcpuLimit`, and Karpenter and CoreDNS get the size for as many machines
   * as these limits allow
   */
  readonly groups?: readonly PodGroup[] | undefined;
  /**
   * Machines for Karpenter, CoreDNS and the volume controller. @default two machines of the smallest m7g type that is
   * large enough
   */
  readonly system?: Partial<SystemArgs> | undefined;
  /** Addresses that may reach the API server from outside the network. @default none */
  readonly publicAccess?: Partial<PublicAccess> | undefined;
}

interface CompletePlatform {
  readonly plan: EksPlan;
  readonly pools: Pools;
  readonly publicAccess: PublicAccess;
}

const DEFAULT_CIDR = "10.0.0.0/16";
const DEFAULT_POOLS: PoolSettings = { servers: {}, clients: {} };

/** @throws BadInput with every reason why the platform cannot be created */
export function completePlatform(name: string, args: EksPlatformArgs): CompletePlatform {
  const { region, zones, network, existingNetwork, groups, system, controlPlaneTier, imageCache, backups, keyArn } =
    args;
  const pools = completePools(args.pools ?? DEFAULT_POOLS);
  const publicAccess = { cidrs: [], openToTheWorld: false, ...args.publicAccess };
  const plan = planEks({
    region,
    zones,
    network:
      existingNetwork === undefined
        ? { existing: false, cidr: network?.cidr ?? DEFAULT_CIDR, nat: network?.nat ?? "one" }
        : { existing: true },
    system: { machines: 2, ...system },
    pools,
    groups: groups ?? [],
    otherMachines: groups === undefined ? mostMachines(pools) : 0,
    controlPlaneTier,
    imageCache,
    backups,
    ownKey: keyArn === undefined,
  });
  const problems = [
    ...plan.problems,
    ...(groups === undefined ? limitProblems(pools) : []),
    ...accessProblems(publicAccess),
    ...networkProblems(args),
  ];
  if (problems.length > 0) throw new BadInput(`EksPlatform ${name}`, problems);
  return { plan, pools: limitedPools(pools, plan), publicAccess };
}

function accessProblems(publicAccess: PublicAccess): Problem[] {
  const message = publicAccessProblem(publicAccess);
  return message === undefined ? [] : [problem("open-access", "publicAccess.cidrs", message)];
}

function networkProblems({ zones, network, existingNetwork }: EksPlatformArgs): Problem[] {
  if (existingNetwork === undefined) return [];
  const count = existingNetwork.privateSubnetIds.length;
  return compact([
    network === undefined
      ? undefined
      : problem("two-networks", "network", "is set together with existingNetwork; expected only one of the two"),
    count < zones.length
      ? problem(
          "too-few-subnets",
          "existingNetwork.privateSubnetIds",
          `${count} subnets for ${zones.length} zones; expected at least one subnet for each zone`,
        )
      : undefined,
  ]);
}

/** The calculation uses the smallest machine type of each pool. */
function mostMachines(pools: Pools): number {
  const most = ({ instanceTypes, vcpuLimit = 0 }: NonNullable<Pools[PoolName]>): number => {
    const vcpus = instanceTypes.flatMap((type) => machineType(type)?.vcpus ?? []);
    return vcpus.length === 0 ? 0 : Math.ceil(vcpuLimit / Math.min(...vcpus));
  };
  return POOLS.reduce((sum, pool) => sum + (pools[pool] === undefined ? 0 : most(pools[pool])), 0);
}

/** The reserve lets a new machine start before the old one is removed. */
const SPARE = 1.25;

/** The configured limits, or else the planned vCPUs plus a reserve. Pure. */
function limitedPools(pools: Pools, { machines }: Pick<EksPlan, "machines">): Pools {
  const limit = (pool: PoolName): number => {
    const own = machines.filter((group) => group.pool === pool);
    const planned = own.reduce((sum, { count, vcpus }) => sum + count * vcpus, 0);
    // The reserve is at least one machine: a quarter of two machines would be less than one.
    return Math.ceil(Math.max(planned * SPARE, planned + Math.max(0, ...own.map(({ vcpus }) => vcpus))));
  };
  return Object.fromEntries(
    POOLS.flatMap((pool) => {
      const args = pools[pool];
      return args === undefined ? [] : [[pool, { ...args, vcpuLimit: args.vcpuLimit ?? limit(pool) }]];
    }),
  );
}
