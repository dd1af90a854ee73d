/** Machine pools: names, taints, capacity types, and the toleration and selector of a pod in a pool. */
import { type Tuning, UNTUNED } from "./tuning";
import { type Problem, problem } from "../../../lib/errors";
import { type Architecture, ARCHITECTURES, machineType } from "../offers/machine-types";

/** Values of the label `karpenter.sh/capacity-type`. */
export const CAPACITIES = ["on-demand", "spot"] as const;

/** Reason why only load generators may use spot machines. */
export const SERVERS_ON_DEMAND =
  "AWS may take spot machines away from servers with a notice of two minutes; expected on-demand";

export const SPOT_NOTE =
  "load generators run on spot machines. The cost counts the on-demand price, which is the highest price of spot machines. " +
  "AWS may take spot machines away with a notice of two minutes. An interrupted measurement is repeated once; if it is interrupted again, it fails";

/**
 * Names of the pools. `servers` is for Valkey. `networkOptimized` is also for Valkey, for deployments that choose more
 * bandwidth. `clients` is for load generators, so that no load generator shares a machine with a server.
 */
export const POOLS = ["servers", "networkOptimized", "clients"] as const;
export type PoolName = (typeof POOLS)[number];

/** Configuration of a pool. */
export interface PoolArgs {
  /**
   * Machine types that Karpenter may start, such as `r7g.large`. Karpenter takes the cheapest type that is large enough
   * for the pods. With only one type, all machines are equal and measurements are comparable.
   */
  readonly instanceTypes: readonly string[];
  readonly tuning: Tuning;
  /** Capacity type. `spot` is allowed only for load generators. @default on-demand */
  readonly capacity?: "on-demand" | "spot" | undefined;
  /** Size of each machine's root volume, GiB. @default 20 */
  readonly rootVolumeGiB: number;
  /**
   * Highest total number of vCPUs of the pool, to limit cost.
   * @default the planned vCPUs plus a reserve, which is a quarter of the planned vCPUs but at least one machine
   */
  readonly vcpuLimit?: number | undefined;
}

/** The configured pools. */
export type Pools = Readonly<Partial<Record<PoolName, PoolArgs | undefined>>>;

/** Settings of the pools. They override `POOL_DEFAULTS`. */
export type PoolSettings = Readonly<Partial<Record<PoolName, Partial<PoolArgs> | undefined>>>;

/**
 * Defaults of the pools. The pool `servers` has the machines that the published document "Valkey on EKS" uses. The
 * other pools have machines with more bandwidth.
 */
export const POOL_DEFAULTS: Readonly<Record<PoolName, PoolArgs>> = {
  servers: { instanceTypes: ["r7g.large"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
  networkOptimized: { instanceTypes: ["r8gn.large"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
  clients: { instanceTypes: ["c7gn.xlarge"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
};

export function completePools(pools: PoolSettings): Pools {
  const named = POOLS.filter((pool) => pools[pool] !== undefined);
  return Object.fromEntries(named.map((pool) => [pool, { ...POOL_DEFAULTS[pool], ...pools[pool] }]));
}

const OBJECT_NAMES: Readonly<Record<PoolName, string>> = {
  servers: "servers",
  networkOptimized: "network-optimized",
  clients: "clients",
};

export function poolObjectName(pool: PoolName): string {
  return OBJECT_NAMES[pool];
}

/** Key of the label and of the taint that every machine of a pool has. */
export const POOL_KEY = "valkey-measured/pool";

interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: "NoSchedule";
}

export function poolTaint(pool: PoolName): Taint {
  return { key: POOL_KEY, value: poolObjectName(pool), effect: "NoSchedule" };
}

/** Toleration of a pod that may run on a pool's machines. */
export function poolToleration(pool: PoolName): {
  readonly key: string;
  readonly operator: "Equal";
  readonly value: string;
  readonly effect: "NoSchedule";
} {
  return { ...poolTaint(pool), operator: "Equal" };
}

/** Node selector of a pod that runs only on a pool's machines. */
export function poolSelector(pool: PoolName): Readonly<Record<string, string>> {
  return { [POOL_KEY]: poolObjectName(pool) };
}

/** Pods use the same key in their node selectors. */
export const MACHINE_SET_KEY = "valkey-measured/machines";

export const LOAD_GENERATOR_SET = "load-generators";

/** Node selector of a pod that runs only on the machines of a set. All machines of a set belong to one pool. */
export function machineSetSelector(set: string): Readonly<Record<string, string>> {
  return { [MACHINE_SET_KEY]: set };
}

export function isSpot(pools: Pools, pool: PoolName | "system"): boolean {
  return pool !== "system" && pools[pool]?.capacity === "spot";
}

export function capacityTypeProblems(pools: Pools): Problem[] {
  return POOLS.filter((pool) => pool !== "clients" && isSpot(pools, pool)).map((pool) =>
    problem("servers-on-spot", `pools.${pool}.capacity`, SERVERS_ON_DEMAND),
  );
}

export function architecturesOf(types: readonly string[]): Architecture[] {
  const found = new Set(types.map((type) => machineType(type)?.architecture));
  return ARCHITECTURES.filter((architecture) => found.has(architecture));
}

/** In such a pool, two measurements could run on different processors. */
export function architectureProblems(pools: Pools): Problem[] {
  return POOLS.flatMap((pool) => {
    const types = pools[pool]?.instanceTypes ?? [];
    if (architecturesOf(types).length < 2) return [];
    const listed = ARCHITECTURES.map(
      (architecture) =>
        `${architecture} (${types.filter((type) => machineType(type)?.architecture === architecture).join(", ")})`,
    );
    const message = `the types have two architectures, ${listed.join(" and ")}; expected one architecture`;
    return [problem("two-architectures", `pools.${pool}.instanceTypes`, message)];
  });
}
