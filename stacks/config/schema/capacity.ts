/** The section `capacity`: the highest load that each deployment takes within an objective. */
import { z } from "zod";
import type { Objective } from "../../../benchmarks/capacity/objective";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import type { SearchPlan } from "../../../benchmarks/capacity/search";
import { BadInput } from "../../../lib/errors";
import { workloadName } from "./workloads";

const objective = z.string().transform((text, context): Objective => {
  try {
    return parseObjective(text);
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    for (const message of error.problems) context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
});

const rate = z.int().min(1).max(100_000_000);

/** What the search does where nobody says otherwise. */
export const DEFAULT_SEARCH: SearchPlan = { initialRate: 1_000, maxRate: 10_000_000, precision: 0.1, confirmations: 3 };

export const capacitySchema = z.strictObject({
  /** A percentile and the most it may be: `p99=2ms`. */
  objective,
  /** The one of the open-loop workloads that is offered, at rates of the search. @default the first of them */
  workload: workloadName.optional(),
  /** The first load that is offered, requests per second; no more than the highest. */
  initialRate: rate.default(DEFAULT_SEARCH.initialRate),
  /** The highest load that is offered, requests per second. */
  maxRate: rate.default(DEFAULT_SEARCH.maxRate),
  /** How near the answer must be, a part of it. */
  precision: z.number().min(0.01).max(1).default(DEFAULT_SEARCH.precision),
  /** How often the answer is offered again, at most; it must hold in most, and the lowest load that failed must not. */
  confirmations: z.int().min(1).max(20).default(DEFAULT_SEARCH.confirmations),
});
export type CapacityConfig = z.infer<typeof capacitySchema>;

export function searchPlan({ initialRate, maxRate, precision, confirmations }: CapacityConfig): SearchPlan {
  return { initialRate, maxRate, precision, confirmations };
}
