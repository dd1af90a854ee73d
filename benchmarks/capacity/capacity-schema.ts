/** Section `capacity`: a search for the highest load that each deployment serves within an objective. */
import { z } from "zod";
import type { OpenLoopWorkload } from "../workloads/mixed-workload";
import type { CapacitySearch } from "./measure-capacity";
import { type Objective, parseObjective } from "./objective";
import type { SearchPlan } from "./search";
import { BadInput } from "../../lib/errors";
import { wholeNumber, recordName } from "../../lib/schema/fields";

const objective = z.string().transform((text, context): Objective => {
  try {
    return parseObjective(text);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    for (const { code, message } of error.problems) context.addIssue({ code: "custom", params: { code }, message });
    return z.NEVER;
  }
});

const rate = wholeNumber(1, 100_000_000);

export const DEFAULT_SEARCH: SearchPlan = { initialRate: 1_000, maxRate: 10_000_000, precision: 0.1, confirmations: 3 };

/** Schema of the section `capacity`. */
export const capacitySchema = z
  .strictObject({
    /** A latency percentile and its highest allowed value, such as `p99=2ms` or `p99.9=500us`. */
    objective: objective.clone(),
    /** Open-loop workload that the search sends, at the rates that it tries. @default the first open-loop workload */
    workload: recordName.optional(),
    /** First rate that the search offers, at most `maxRate`. @unit requests per second */
    initialRate: rate.default(DEFAULT_SEARCH.initialRate),
    /** Highest rate that the search offers. @unit requests per second */
    maxRate: rate.default(DEFAULT_SEARCH.maxRate),
    /** Relative precision of the capacity: 0.1 is 10 %. */
    precision: z.number().min(0.01).max(1).default(DEFAULT_SEARCH.precision),
    /**
     * Highest number of repeats at the capacity, and at the next higher load. The capacity must meet the objective in
     * more than half of its repeats. The next higher load must miss the objective in at least half of its repeats.
     */
    confirmations: wholeNumber(1, 20).default(DEFAULT_SEARCH.confirmations),
  })
  .meta({ description: "Search for the highest load at which each deployment meets a latency objective." });
/** The parsed section `capacity`. */
export type CapacityConfig = z.infer<typeof capacitySchema>;

export function searchPlan({ initialRate, maxRate, precision, confirmations }: CapacityConfig): SearchPlan {
  return { initialRate, maxRate, precision, confirmations };
}

/** The workload that the section names, or else the first given one; undefined if the named one is not among them. */
export function searchOf(capacity: CapacityConfig, workloads: readonly OpenLoopWorkload[]): CapacitySearch | undefined {
  const workload = workloads.find(({ name }) => name === (capacity.workload ?? name));
  return workload && { workload, objective: capacity.objective, search: searchPlan(capacity) };
}
