/** Compares capacities of two runs. A search gives a capacity between two rates, so a ratio has bounds. Pure. */
import { compact } from "../../lib/compact";
import { formatObjective } from "../capacity/objective";
import type { Ratio } from "../../lib/statistics/ratio";
import type { CapacityRecord, Results, MeasuredTopology } from "../results/schema";
import type { Change } from "./changes";
import { describeChange, capacityWorkChanges, capacityGeneratorChanges } from "./changes";

export interface ComparedCapacity {
  readonly workload: string;
  readonly before: CapacityRecord;
  readonly after: CapacityRecord;
  /** Differences of objective or load; with any of these there is no ratio. */
  readonly workDifferences: readonly Change[];
  /** `high` is infinite, or `low` 0, where every rate of a search met the objective. Undefined without a ratio. */
  readonly bounds: { readonly ratio: number; readonly low: number; readonly high: number } | undefined;
  /** Influences on the ratio besides the servers. */
  readonly notes: readonly string[];
}

/**
 * Compares each capacity that both runs have.
 * @param matched deployments of the first run with those of the second
 * @param notes influences that concern both runs as a whole
 */
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
 * The judgement. A difference must exceed the steps of both searches and the change of the reference load;
 * "no difference" needs steps as small as the precision.
 * @param referenceLoad its rate in the second run over that in the first
 * @param precision relative difference that matters: 0.05 is 5 %
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

/**
 * Whether a ratio is at most as far from 1 as the change of the machine itself.
 * @param referenceLoad its rate in the second run over that in the first
 */
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
      : `the ${unknown.join(" and the ")} run has no record of its load, so the loads may differ`,
    ...(first.load === null || second.load === null
      ? []
      : capacityGeneratorChanges(first.load, second.load).map(
          (change) => `other load generation: ${describeChange(change)}`,
        )),
    ...[first, second].flatMap(({ warnings }, index) =>
      warnings.length === 0
        ? []
        : [`warnings in the ${index === 0 ? "first" : "second"} run: ${warnings.map(({ code }) => code).join(", ")}`],
    ),
  ]);
}

/** Undefined where the lowest rate of a search missed the objective: there is no capacity to divide by. */
function boundsOf(before: CapacityRecord, after: CapacityRecord): ComparedCapacity["bounds"] {
  if (before.capacity === 0 || after.capacity === 0) return undefined;
  return {
    ratio: after.capacity / before.capacity,
    low: after.capacity / lowestMissedRate(before),
    high: lowestMissedRate(after) / before.capacity,
  };
}

/** The lowest rate above the capacity that missed the objective in most probes. Infinite where none did. */
function lowestMissedRate({ capacity, points }: CapacityRecord): number {
  return Math.min(
    Infinity,
    ...points.filter(({ rate, held, probes }) => rate > capacity && 2 * held <= probes).map(({ rate }) => rate),
  );
}
