/** Capacity type of a pool's machines: on demand, or spot. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import type { PoolName, Pools } from "./pools";
import { POOLS } from "./pools";

/** Values of the label `karpenter.sh/capacity-type`. */
export const CAPACITIES = ["on-demand", "spot"] as const;

/** Reason why only load generators may use spot machines. */
export const SERVERS_ON_DEMAND =
  "AWS may take spot machines away from servers with a notice of two minutes; expected on-demand";

export const SPOT_NOTE =
  "load generators run on spot machines. The cost counts the on-demand price, which is the highest price of spot machines. " +
  "AWS may take spot machines away with a notice of two minutes. An interrupted measurement is repeated once; if it is interrupted again, it fails";

export function isSpot(pools: Pools, pool: PoolName | "system"): boolean {
  return pool !== "system" && pools[pool]?.capacity === "spot";
}

/** Problems with pools of servers that are configured as spot machines. */
export function capacityTypeProblems(pools: Pools): Problem[] {
  return POOLS.filter((pool) => pool !== "clients" && isSpot(pools, pool)).map((pool) =>
    problem("servers-on-spot", `pools.${pool}.capacity`, SERVERS_ON_DEMAND),
  );
}
