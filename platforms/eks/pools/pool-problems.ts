import { type Problem, problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import { type PoolArgs, type PoolName, type Pools, architectureProblems, POOLS, capacityTypeProblems } from "./pools";
import { familyOf, machineType, unknownTypeProblem } from "../offers/machine-types";
import type { PriceTable } from "../offers/prices";

export function poolProblems(pools: Pools, prices?: PriceTable): Problem[] {
  return [
    ...POOLS.flatMap((pool) => typeProblems(pool, pools[pool], prices)),
    ...architectureProblems(pools),
    ...capacityTypeProblems(pools),
  ];
}

/** Without a plan there is no default for `vcpuLimit`, so the pool could grow endlessly. */
export function limitProblems(pools: Pools): Problem[] {
  return POOLS.filter((pool) => pools[pool] !== undefined && pools[pool].vcpuLimit === undefined).map((pool) =>
    problem(
      "no-limit",
      `pools.${pool}.vcpuLimit`,
      "is missing; expected the highest number of vCPUs of the pool, because it limits the cost",
    ),
  );
}

function typeProblems(pool: PoolName, args: PoolArgs | undefined, prices: PriceTable | undefined): Problem[] {
  return (args?.instanceTypes ?? []).flatMap((name, index) => {
    const path = `pools.${pool}.instanceTypes.${index}`;
    const type = machineType(name);
    if (type === undefined) return [problem("unknown-type", path, unknownTypeProblem(name))];
    const { interruptCpus } = args?.tuning ?? { interruptCpus: 0 };
    return compact([
      prices !== undefined && prices.machines[name] === undefined
        ? problem(
            "no-price",
            path,
            `the prices of ${prices.date} for ${prices.region} do not contain ${name}; types with a price: ${
              Object.keys(prices.machines)
                .filter((other) => familyOf(other) === familyOf(name))
                .join(", ") || "none of this family"
            }`,
          )
        : undefined,
      interruptCpus >= type.vcpus
        ? problem(
            "interrupts-on-every-cpu",
            `pools.${pool}.tuning.interruptCpus`,
            `${name} has ${type.vcpus} CPUs, so ${interruptCpus} CPUs for interrupts leave no CPU for Valkey; ` +
              `expected at most ${type.vcpus - 1}`,
          )
        : undefined,
    ]);
  });
}
