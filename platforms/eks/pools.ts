/** Pools of machines: their names, the taint that keeps others out, and the toleration and selector that let a pod in. Pure. */
import type { Tuning } from "./machines";
import { UNTUNED } from "./machines";

/**
 * `servers` carries Valkey; `networkOptimized` as well, for deployments that opt into more bandwidth; `clients` carries
 * load generators, so that none shares a machine with a server.
 */
export const POOLS = ["servers", "networkOptimized", "clients"] as const;
export type PoolName = (typeof POOLS)[number];

/** A pool as configured. */
export interface PoolArgs {
  /**
   * Machine types that may be started, such as `r7g.large` (S1). Several let Karpenter choose the cheapest that fits; one
   * makes measurements comparable.
   */
  readonly instanceTypes: readonly string[];
  readonly tuning: Tuning;
  /** Size of each machine's root volume, GiB. @default 20 */
  readonly rootVolumeGiB: number;
  /** Most vCPUs the pool may have in all: a brake on cost. @default what the plan needs, and a quarter more */
  readonly vcpuLimit?: number | undefined;
}

/** What a pool is without further wishes: S1's machines for servers, machines of more bandwidth for the others. */
export const POOL_DEFAULTS: Readonly<Record<PoolName, PoolArgs>> = {
  servers: { instanceTypes: ["r7g.large"], tuning: UNTUNED, rootVolumeGiB: 20 },
  networkOptimized: { instanceTypes: ["r8gn.large"], tuning: UNTUNED, rootVolumeGiB: 20 },
  clients: { instanceTypes: ["c7gn.xlarge"], tuning: UNTUNED, rootVolumeGiB: 20 },
};

/** Names of pools as Kubernetes objects have them. */
const OBJECT_NAMES: Readonly<Record<PoolName, string>> = {
  servers: "servers",
  networkOptimized: "network-optimized",
  clients: "clients",
};

export function poolObjectName(pool: PoolName): string {
  return OBJECT_NAMES[pool];
}

/** Of the label and the taint that every machine of a pool has. */
export const POOL_KEY = "valkey-measured/pool";

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: "NoSchedule";
}

export function poolTaint(pool: PoolName): Taint {
  return { key: POOL_KEY, value: poolObjectName(pool), effect: "NoSchedule" };
}

/** What a pod needs to be let onto a pool's machines. */
export function poolToleration(pool: PoolName): {
  readonly key: string;
  readonly operator: "Equal";
  readonly value: string;
  readonly effect: "NoSchedule";
} {
  return { ...poolTaint(pool), operator: "Equal" };
}

/** What a pod needs to be kept off all others. */
export function poolSelector(pool: PoolName): Readonly<Record<string, string>> {
  return { [POOL_KEY]: poolObjectName(pool) };
}
