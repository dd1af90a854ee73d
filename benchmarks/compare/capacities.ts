/** A search finds only that a capacity is between two rates, so a ratio has a lower and an upper bound. */
import { compact } from "../../lib/compact";
import { formatObjective } from "../capacity/objective";
import type { Ratio } from "../../lib/statistics/ratio";
import type { CapacityRecord, Results, MeasuredTopology } from "../results/schema";
import { type Change, describeChange, capacityWorkChanges, capacityGeneratorChanges } from "./changes";

export interface ComparedCapacity {
  readonly workload: string;
  readonly before: CapacityRecord;
  readonly after: CapacityRecord;
  /**
   * Differences between the objectives or loads of the two searches. If the list is not empty, no ratio is computed.
   */
  readonly workDifferences: readonly Change[];
  /**
   * Ratio with its bounds; undefined if no ratio was computed. If every rate of one search met the objective, `high` is
   * infinite or `low` is 0.
   */
  readonly bounds: { readonly ratio: number; readonly low: number; readonly high: number } | undefined;
  /** Possible causes of the ratio other than the servers. */
  readonly notes: readonly string[];
}

/** @param notes reasons that may have changed all ratios of these runs */
export function compareCapacities(
  before: Results,
  after: Results,
  matched: readonly { readonly before: MeasuredTopology; readonly after: MeasuredTopology }[],
  notes: readonly string[],
): ComparedCapacity[] {
  return matched.flatMap((pair) =>
    before.capacities
      .filter(({ deployment }) => deployment === pair.before.deployment)
      .flatMap((first): ComparedCapacity[] => {
        const others = after.capacities.filter(
          ({ deployment, workload }) => deployment === pair.after.deployment && workload === first.workload,
        );
        const second =
          others.find(({ objective }) => formatObjective(objective) === formatObjective(first.objective)) ?? others[0];
        if (second === undefined) return [];
        const { load: offered } = first;
        const otherWork = [
          ...objectiveChange(first, second),
          ...(offered === null || second.load === null ? [] : capacityWorkChanges(offered, second.load)),
        ];
        const isComparable = otherWork.length === 0;
        return [
          {
            workload: first.workload,
            before: first,
            after: second,
            workDifferences: otherWork,
            bounds: isComparable ? boundsOf(first, second) : undefined,
            notes: isComparable ? [...notesOn(first, second), ...notes] : [],
          },
        ];
      }),
  );
}

/**
 * A difference counts if it is greater than the steps of both searches and the change of the reference load; "no
 * difference" needs steps of at most the precision.
 * @param referenceLoad rate in the second run divided by that in the first
 * @param precision relative: 0.05 is 5 %
 */
export function judgeCapacities(
  { bounds, workDifferences }: ComparedCapacity,
  referenceLoad: Ratio | undefined,
  precision: number,
): "faster" | "slower" | "noise" | "no-difference" | "not-enough-data" | "other-work" {
  if (workDifferences.length > 0) return "other-work";
  if (bounds === undefined) return "not-enough-data";
  const { ratio, low, high } = bounds;
  if (low <= 1 && high >= 1)
    return Math.log(high / low) / 2 <= Math.log1p(precision) ? "no-difference" : "not-enough-data";
  if (isWithinDrift(referenceLoad, ratio)) return "noise";
  return ratio > 1 ? "faster" : "slower";
}

/** Whether the ratio is at least as close to 1 as that of the reference loads, second run divided by first. */
export function isWithinDrift(referenceLoad: Ratio | undefined, ratio: number): boolean {
  const ends = [referenceLoad?.low ?? referenceLoad?.ratio ?? 1, referenceLoad?.high ?? referenceLoad?.ratio ?? 1];
  return Math.abs(Math.log(ratio)) <= Math.max(...ends.map((end) => Math.abs(Math.log(end))));
}

function objectiveChange({ objective: before }: CapacityRecord, { objective: after }: CapacityRecord): Change[] {
  const [a, b] = [formatObjective(before), formatObjective(after)];
  return a === b ? [] : [{ what: "objective", before: a, after: b }];
}

function notesOn(first: CapacityRecord, second: CapacityRecord): string[] {
  const unknown = compact([first.load === null ? "first" : undefined, second.load === null ? "second" : undefined]);
  return compact([
    unknown.length === 0
      ? undefined
      : `there is no record of the load in the ${unknown.join(" and the ")} run, so the loads may differ`,
    ...(first.load === null || second.load === null
      ? []
      : capacityGeneratorChanges(first.load, second.load).map(
          (change) => `the load generator differs: ${describeChange(change)}`,
        )),
    ...[first, second].flatMap(({ warnings }, index) =>
      warnings.length === 0
        ? []
        : [`warnings in the ${index === 0 ? "first" : "second"} run: ${warnings.map(({ code }) => code).join(", ")}`],
    ),
  ]);
}

/** Undefined if the lowest rate of a search missed the objective, because then the capacity is unknown. */
function boundsOf(before: CapacityRecord, after: CapacityRecord): ComparedCapacity["bounds"] {
  if (before.capacity === 0 || after.capacity === 0) return undefined;
  return {
    ratio: after.capacity / before.capacity,
    low: after.capacity / lowestMissedRate(before),
    high: lowestMissedRate(after) / before.capacity,
  };
}

function lowestMissedRate({ capacity, points }: CapacityRecord): number {
  return Math.min(
    Infinity,
    ...points.filter(({ rate, held, probes }) => rate > capacity && 2 * held <= probes).map(({ rate }) => rate),
  );
}
