/** Capacities of two runs against each other: a search knows between which two loads the answer lies, and a ratio lies between what these allow. Pure. */
import { formatObjective } from "../capacity/objective";
import type { Ratio } from "../statistics/ratio";
import type { CapacityRecord, Results, TopologyRecord } from "../results/schema";
import type { Change } from "./changes";
import { workChanges } from "./changes";

export interface ComparedCapacity {
  readonly workload: string;
  readonly before: CapacityRecord;
  readonly after: CapacityRecord;
  /** What differs about objective or load: capacities of different work have no ratio. */
  readonly otherWork: readonly Change[];
  /** `high` is infinite, and `low` 0, where a search ended without a load that did not hold. Undefined where there is no ratio. */
  readonly bounds: { readonly ratio: number; readonly low: number; readonly high: number } | undefined;
}

/** @param matched deployments of the one run beside those of the other */
export function compareCapacities(before: Results, after: Results, matched: readonly { readonly before: TopologyRecord; readonly after: TopologyRecord }[]): ComparedCapacity[] {
  return matched.flatMap((pair) =>
    before.capacities
      .filter(({ deployment }) => deployment === pair.before.deployment)
      .flatMap((first): ComparedCapacity[] => {
        const others = after.capacities.filter(({ deployment, workload }) => deployment === pair.after.deployment && workload === first.workload);
        const second = others.find(({ objective }) => formatObjective(objective) === formatObjective(first.objective)) ?? others[0];
        if (second === undefined) return [];
        const otherWork = [...objectiveChange(first, second), ...workChanges(loadsOf(before, first), loadsOf(after, second))];
        return [{ workload: first.workload, before: first, after: second, otherWork, bounds: otherWork.length === 0 ? boundsOf(first, second) : undefined }];
      }),
  );
}

/**
 * What may be said of it. Both searches must be apart by more than their steps, and by more than a fixed load moved.
 * @param canary of both runs, second over first
 */
export function judgeCapacities({ bounds, otherWork }: ComparedCapacity, canary: Ratio | undefined): "faster" | "slower" | "noise" | "no-difference" | "not-enough-data" | "other-work" {
  if (otherWork.length > 0) return "other-work";
  if (bounds === undefined || (bounds.low <= 1 && bounds.high >= 1 && (bounds.low === 0 || !Number.isFinite(bounds.high)))) return "not-enough-data";
  const { ratio, low, high } = bounds;
  if (low <= 1 && high >= 1) return "no-difference";
  const moved = Math.max(...[canary?.low ?? canary?.ratio ?? 1, canary?.high ?? canary?.ratio ?? 1].map((each) => Math.abs(Math.log(each))));
  if (Math.abs(Math.log(ratio)) <= moved) return "noise";
  return ratio > 1 ? "faster" : "slower";
}

function objectiveChange({ objective: before }: CapacityRecord, { objective: after }: CapacityRecord): Change[] {
  const [a, b] = [formatObjective(before), formatObjective(after)];
  return a === b ? [] : [{ what: "objective", before: a, after: b }];
}

/** The load as it was measured at its own rate, without that rate: the search offers others. */
function loadsOf({ records }: Results, { deployment, workload }: CapacityRecord): Results["records"] {
  return records.filter((record) => record.deployment === deployment && record.test === workload).map((record) => ({ ...record, rate: null }));
}

/** Undefined where not even the lowest load held in one of them: a ratio of nothing. */
function boundsOf(before: CapacityRecord, after: CapacityRecord): ComparedCapacity["bounds"] {
  if (before.capacity === 0 || after.capacity === 0) return undefined;
  return { ratio: after.capacity / before.capacity, low: after.capacity / tooMuch(before), high: tooMuch(after) / before.capacity };
}

/** The lowest load above the answer that was tried: it did not hold. Infinite where none was. */
function tooMuch({ capacity, points }: CapacityRecord): number {
  return Math.min(Infinity, ...points.map(({ rate }) => rate).filter((rate) => rate > capacity));
}
