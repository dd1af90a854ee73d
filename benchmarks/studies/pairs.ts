/** Which treatments are compared with each other, and which of them side by side. Pure. */
import { nodeCount } from "../../valkey/topology/placement";
import type { TestName } from "../workloads/named-tests";
import { namedTest } from "../workloads/named-tests";
import type { Treatment, Factor, Levels } from "./factors";

export interface TreatmentPair {
  readonly base: Treatment;
  readonly other: Treatment;
}

/**
 * Each treatment beside those that differ from it in one thing only, which is at its first level there: one factor, or the deployment.
 */
export function comparedPairs(treatments: readonly Treatment[]): TreatmentPair[] {
  const [first] = treatments;
  if (first === undefined) return [];
  const find = (base: string, levels: Levels): Treatment | undefined =>
    treatments.find((treatment) => treatment.baseDeployment === base && sameLevels(treatment.levels, levels));
  return treatments.flatMap((other) => {
    const bases = [
      ...(other.baseDeployment === first.baseDeployment ? [] : [find(first.baseDeployment, other.levels)]),
      ...(Object.keys(other.levels) as Factor[]).flatMap((factor) =>
        other.levels[factor] === first.levels[factor]
          ? []
          : [find(other.baseDeployment, { ...other.levels, [factor]: first.levels[factor] })],
      ),
    ];
    return bases.flatMap((base) => (base === undefined ? [] : [{ base, other }]));
  });
}

/**
 * Those whose throughput is compared (at an offered rate it is what was offered), of as many nodes each: halting and waking takes
 * every process some 0.2 ms in each step, which is nothing to a ratio where both lose as much, and a sixth of it where twelve are
 * held against three.
 */
export function interleavedPairs(treatments: readonly Treatment[]): TreatmentPair[] {
  const isAtFullSpeed = ({ workload }: Treatment): boolean => workload.rate === undefined;
  return comparedPairs(treatments).filter(
    (pair) =>
      isAtFullSpeed(pair.base) &&
      isAtFullSpeed(pair.other) &&
      nodeCount(pair.base.shape) === nodeCount(pair.other.shape) &&
      commonTests(pair).length > 0,
  );
}

/** Tests that both can be sent for as long as one likes: those that leave their data as they were. */
export function commonTests({ base, other }: TreatmentPair): TestName[] {
  return base.workload.tests.filter((test) => other.workload.tests.includes(test) && namedTest(test).leaves === "same");
}

function sameLevels(a: Levels, b: Levels): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<Factor>;
  return [...keys].every((key) => a[key] === b[key]);
}
