/** Capacities of two runs against each other: a search knows between which two loads the answer lies, and a ratio lies between what these allow. Pure. */
import { formatObjective } from "../capacity/objective";
import type { Ratio } from "../../lib/statistics/ratio";
import type { CapacityRecord, Results, TopologyRecord } from "../results/schema";
import type { Change } from "./changes";
import { describeChange, capacityWorkChanges, capacityGeneratorChanges } from "./changes";

export interface ComparedCapacity {
  readonly workload: string;
  readonly before: CapacityRecord;
  readonly after: CapacityRecord;
  /** What differs about objective or load: capacities of different work have no ratio. */
  readonly workDifferences: readonly Change[];
  /** `high` is infinite, and `low` 0, where a search ended without a load that did not hold. Undefined where there is no ratio. */
  readonly bounds: { readonly ratio: number; readonly low: number; readonly high: number } | undefined;
  /** Why the ratio may be of more than the servers. */
  readonly notes: readonly string[];
}

/** @param matched deployments of the one run beside those of the other @param notes of both runs as wholes */
export function compareCapacities(
  before: Results,
  after: Results,
  matched: readonly { readonly before: TopologyRecord; readonly after: TopologyRecord }[],
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
 * What may be said of it. Both searches must be apart by more than their steps, and by more than a fixed load moved; that they are
 * not apart takes steps as small as the precision.
 * @param referenceLoad of both runs, second over first
 * @param precision part of the metric that matters
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

/** Whether a ratio is no further from 1 than the machine may have moved by itself. @param referenceLoad of both runs, second over first */
export function isWithinDrift(referenceLoad: Ratio | undefined, ratio: number): boolean {
  const ends = [referenceLoad?.low ?? referenceLoad?.ratio ?? 1, referenceLoad?.high ?? referenceLoad?.ratio ?? 1];
  return Math.abs(Math.log(ratio)) <= Math.max(...ends.map((end) => Math.abs(Math.log(end))));
}

function objectiveChange({ objective: before }: CapacityRecord, { objective: after }: CapacityRecord): Change[] {
  const [a, b] = [formatObjective(before), formatObjective(after)];
  return a === b ? [] : [{ what: "objective", before: a, after: b }];
}

function notesOn(first: CapacityRecord, second: CapacityRecord): string[] {
  const unknown = [...(first.load === null ? ["first"] : []), ...(second.load === null ? ["second"] : [])];
  return [
    ...(unknown.length === 0
      ? []
      : [
          `what was offered in the ${unknown.join(" and the ")} is not on record: whether it is the same work nobody can tell`,
        ]),
    ...(first.load === null || second.load === null
      ? []
      : capacityGeneratorChanges(first.load, second.load).map((change) => `sent otherwise: ${describeChange(change)}`)),
    ...[first, second].flatMap(({ warnings }, index) =>
      warnings.length === 0
        ? []
        : [`warnings in the ${index === 0 ? "first" : "second"}: ${warnings.map(({ code }) => code).join(", ")}`],
    ),
  ];
}

/** Undefined where not even the lowest load held in one of them: a ratio of nothing. */
function boundsOf(before: CapacityRecord, after: CapacityRecord): ComparedCapacity["bounds"] {
  if (before.capacity === 0 || after.capacity === 0) return undefined;
  return {
    ratio: after.capacity / before.capacity,
    low: after.capacity / tooMuch(before),
    high: tooMuch(after) / before.capacity,
  };
}

/** The lowest load above the answer that did not hold in most of its probes. Infinite where none was tried. */
function tooMuch({ capacity, points }: CapacityRecord): number {
  return Math.min(
    Infinity,
    ...points.filter(({ rate, held, probes }) => rate > capacity && 2 * held <= probes).map(({ rate }) => rate),
  );
}
