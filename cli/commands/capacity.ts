import type { Objective } from "../../benchmarks/capacity/objective";
import type { SearchPlan } from "../../benchmarks/capacity/search";
import { BadInput } from "../../lib/errors";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { openLoopWorkloads } from "../../stacks/plan/benchmark-plans";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { capacitySchema, DEFAULT_SEARCH, searchPlan } from "../../benchmarks/capacity/capacity-schema";
import { describeIssues } from "../../lib/schema/problems";
import { type OptionValues, givenValues, optionName, parseNumber } from "../running/options";

export interface CapacityOptions {
  readonly objective?: Objective | undefined;
  readonly search: Partial<SearchPlan>;
}

const optionsSchema = capacitySchema.omit({ workload: true }).partial();

export function capacityOptions(values: OptionValues): CapacityOptions {
  const entries = Object.entries(givenValues(values, Object.keys(optionsSchema.shape)));
  const input: OptionValues = Object.fromEntries(
    entries.map(([key, value]) => [key, key === "objective" ? value : parseNumber(String(value))]),
  );
  const parsed = optionsSchema.safeParse(input);
  if (!parsed.success)
    throw new BadInput(
      "capacity",
      describeIssues(optionsSchema, input, parsed.error.issues, ([key]) => optionName(key)),
    );
  const given = Object.entries(parsed.data).filter(([key]) => key in input && key !== "objective");
  return { objective: parsed.data.objective, search: Object.fromEntries(given) };
}

export function requestedCapacitySearch(config: StackConfig, requested: CapacityOptions): CapacitySearch {
  const { capacity } = config;
  const objective = requested.objective ?? capacity?.objective;
  if (objective === undefined) {
    const remedy = "expected a percentile and a time, such as p99=2ms";
    throw BadInput.of(
      "capacity",
      "no-objective",
      ` is missing, and the stack has no valkey:capacity: ${remedy}`,
      "--objective",
    );
  }
  const [workload] = openLoopWorkloads(config);
  if (workload === undefined) throw new Error("the configuration was read without the workload of the search");
  return {
    workload,
    objective,
    search: { ...DEFAULT_SEARCH, ...(capacity === undefined ? {} : searchPlan(capacity)), ...requested.search },
  };
}
