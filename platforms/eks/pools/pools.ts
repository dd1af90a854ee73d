/** Machine pools: names, taints, and the toleration and selector of a pod in a pool. Pure. */
import type { Tuning } from "../offers/machines";
import { UNTUNED } from "../offers/machines";

/**
 * `servers` carries Valkey; `networkOptimized` as well, for deployments that opt into more bandwidth; `clients` carries
 * load generators, so that none shares a machine with a server.
 */
export const POOLS = ["servers", "networkOptimized", "clients"] as const;
export type PoolName = (typeof POOLS)[number];

/** Configuration of a pool. */
export interface PoolArgs {
  /**
   * Machine types that Karpenter may start, such as `r7g.large` in "Valkey on EKS". With several types Karpenter takes
   * the cheapest that fits. One type makes measurements comparable.
   */
  readonly instanceTypes: readonly string[];
  readonly tuning: Tuning;
  /** `spot` for load generators only. @default on-demand */
  readonly capacity?: "on-demand" | "spot" | undefined;
  /** Size of each machine's root volume, GiB. @default 20 */
  readonly rootVolumeGiB: number;
  /** Most vCPUs of the pool in all, to limit cost. @default the planned vCPUs, and a quarter or one machine more */
  readonly vcpuLimit?: number | undefined;
}

/** The configured pools. */
export type Pools = Readonly<Partial<Record<PoolName, PoolArgs | undefined>>>;

/** The pools, with what differs from `POOL_DEFAULTS`. */
export type PoolSettings = Readonly<Partial<Record<PoolName, Partial<PoolArgs> | undefined>>>;

/** Defaults of the pools: machines of "Valkey on EKS" for servers, machines with more bandwidth for the others. */
export const POOL_DEFAULTS: Readonly<Record<PoolName, PoolArgs>> = {
  servers: { instanceTypes: ["r7g.large"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
  networkOptimized: { instanceTypes: ["r8gn.large"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
  clients: { instanceTypes: ["c7gn.xlarge"], tuning: UNTUNED, capacity: "on-demand", rootVolumeGiB: 20 },
};

/** The pools that are named, each with its defaults. */
export function completePools(pools: PoolSettings): Pools {
  const named = POOLS.filter((pool) => pools[pool] !== undefined);
  return Object.fromEntries(named.map((pool) => [pool, { ...POOL_DEFAULTS[pool], ...pools[pool] }]));
}

/** Names of the pools' Kubernetes objects. */
const OBJECT_NAMES: Readonly<Record<PoolName, string>> = {
  servers: "servers",
  networkOptimized: "network-optimized",
  clients: "clients",
};

export function poolObjectName(pool: PoolName): string {
  return OBJECT_NAMES[pool];
}

/** Key of the label and the taint of every machine of a pool. */
export const POOL_KEY = "valkey-measured/pool";

export interface Taint {
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

/** Key of the label of every machine, and of the node selector of every pod, that says which set it belongs to. */
export const MACHINE_SET_KEY = "valkey-measured/machines";

/** The set of the load generators. */
export const LOAD_GENERATOR_SET = "load-generators";

/** Node selector of a pod that runs only on the machines of a set. Sets of different pools have no machine in common. */
export function machineSetSelector(set: string): Readonly<Record<string, string>> {
  return { [MACHINE_SET_KEY]: set };
}
