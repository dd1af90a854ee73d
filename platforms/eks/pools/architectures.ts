import { type Problem, problem } from "../../../lib/errors";
import { type Architecture, ARCHITECTURES, machineType } from "../offers/machine-types";
import { type Pools, POOLS } from "./pools";

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
