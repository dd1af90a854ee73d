/** How AWS sells a pool's machines: on demand, or spot. Pure. */
import type { PoolName, Pools } from "./pools";
import { POOLS } from "./pools";
import type { Problem } from "./problem";

/** Values of the label `karpenter.sh/capacity-type`. */
export const CAPACITIES = ["on-demand", "spot"] as const;
export type Capacity = (typeof CAPACITIES)[number];

/** Why only load generators may be spot machines. */
export const SERVERS_ON_DEMAND =
  "servers are on demand, because AWS takes spot machines away with a notice of two minutes; expected on-demand";

export const SPOT_NOTE =
  "load generators are spot machines: the cost has their price on demand, which is the most they cost; AWS may take " +
  "them away with a notice of two minutes, and an interrupted measurement is repeated once, then fails";

export function isSpot(pools: Pools, pool: PoolName | "system"): boolean {
  return pool !== "system" && pools[pool]?.capacity === "spot";
}

/** Pools of servers that are asked for as spot machines. */
export function capacityTypeProblems(pools: Pools): Problem[] {
  return POOLS.filter((pool) => pool !== "clients" && isSpot(pools, pool)).map((pool) => ({
    path: ["pools", pool, "capacity"],
    message: SERVERS_ON_DEMAND,
  }));
}
