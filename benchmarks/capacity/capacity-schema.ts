/** The section `capacity`: the search for the highest load that each deployment takes within an objective. */
import { z } from "zod";
import type { OpenLoopWorkload } from "../workloads/mixed-workload";
import type { CapacitySearch } from "./measure-capacity";
import type { Objective } from "./objective";
import { parseObjective } from "./objective";
import type { SearchPlan } from "./search";
import { BadInput } from "../../lib/errors";
import { wholeNumber, recordName } from "../../lib/schema/fields";

const objective = z.string().transform((text, context): Objective => {
  try {
    return parseObjective(text);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    for (const message of error.problems) context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
});

const rate = wholeNumber(1, 100_000_000);

/** The search that the configuration and the options leave as it is. */
export const DEFAULT_SEARCH: SearchPlan = { initialRate: 1_000, maxRate: 10_000_000, precision: 0.1, confirmations: 3 };

/** The section `capacity`. */
export const capacitySchema = z
  .strictObject({
    objective: objective.meta({
      description: "A latency percentile and its highest allowed value, such as `p99=2ms` or `p99.9=500us`.",
    }),
    workload: recordName.optional().meta({
      description: "The open-loop workload that is offered, at the rates of the search.",
      fallback: "the first open-loop workload",
    }),
    initialRate: rate.default(DEFAULT_SEARCH.initialRate).meta({
      description: "First rate that is offered. `maxRate` limits it.",
      unit: "requests per second",
    }),
    maxRate: rate.default(DEFAULT_SEARCH.maxRate).meta({
      description: "Highest rate that is offered.",
      unit: "requests per second",
    }),
    precision: z.number().min(0.01).max(1).default(DEFAULT_SEARCH.precision).meta({
      description: "Relative precision of the capacity: 0.1 is 10 %.",
    }),
    confirmations: wholeNumber(1, 20)
      .default(DEFAULT_SEARCH.confirmations)
      .meta({
        description:
          "Most repeats of the capacity and of the next higher load. The objective must hold in most repeats of the " +
          "capacity, and fail in most repeats of the load above it.",
      }),
  })
  .meta({ description: "Search for the highest load that each deployment takes within a latency objective." });
/** The section `capacity`, parsed. */
export type CapacityConfig = z.infer<typeof capacitySchema>;

/** The search of a section `capacity`. */
export function searchPlan({ initialRate, maxRate, precision, confirmations }: CapacityConfig): SearchPlan {
  return { initialRate, maxRate, precision, confirmations };
}

/** The search over one of these workloads; undefined where there is none that it may offer. */
export function searchOf(capacity: CapacityConfig, workloads: readonly OpenLoopWorkload[]): CapacitySearch | undefined {
  const workload = workloads.find(({ name }) => name === (capacity.workload ?? name));
  return workload && { workload, objective: capacity.objective, search: searchPlan(capacity) };
}
