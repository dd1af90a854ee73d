/** Why pools of machines are refused, whatever runs on them. Pure. */
import { compact } from "../../../lib/compact";
import { architectureProblems } from "./architectures";
import { capacityTypeProblems } from "./capacity";
import { familyOf, machineType, unknownTypeProblem } from "../offers/machines";
import type { PoolArgs, PoolName, Pools } from "./pools";
import { POOLS } from "./pools";
import type { PriceTable } from "../offers/prices";
import type { Problem } from "./problem";

/** @param prices of the region; undefined where there are none */
export function poolProblems(pools: Pools, prices?: PriceTable): Problem[] {
  return [
    ...POOLS.flatMap((pool) => typeProblems(pool, pools[pool], prices)),
    ...architectureProblems(pools),
    ...capacityTypeProblems(pools),
  ];
}

/** Pools that may grow without end, because neither a plan nor the caller limits them. */
export function limitProblems(pools: Pools): Problem[] {
  return POOLS.filter((pool) => pools[pool] !== undefined && pools[pool].vcpuLimit === undefined).map((pool) => ({
    path: ["pools", pool, "vcpuLimit"],
    message: "is missing; expected the most vCPUs that the pool may have, which limits its cost",
  }));
}

function typeProblems(pool: PoolName, args: PoolArgs | undefined, prices: PriceTable | undefined): Problem[] {
  return (args?.instanceTypes ?? []).flatMap((name, index) => {
    const path = ["pools", pool, "instanceTypes", index];
    const type = machineType(name);
    if (type === undefined) return [{ path, message: unknownTypeProblem(name) }];
    const { interruptCpus } = args?.tuning ?? { interruptCpus: 0 };
    return compact([
      prices !== undefined && prices.machines[name] === undefined
        ? {
            path,
            message: `${name} has no price in the table of ${prices.region} of ${prices.date}; known there: ${
              Object.keys(prices.machines)
                .filter((other) => familyOf(other) === familyOf(name))
                .join(", ") || "none of its family"
            }`,
          }
        : undefined,
      interruptCpus >= type.vcpus
        ? {
            path: ["pools", pool, "tuning", "interruptCpus"],
            message:
              `${interruptCpus} of the ${type.vcpus} CPUs of ${name} leave none for Valkey; ` +
              `at most ${type.vcpus - 1}`,
          }
        : undefined,
    ]);
  });
}
