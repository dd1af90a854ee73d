import { compact } from "../../lib/compact";
import { nodeCount } from "../../valkey/topology/placement";
import { type TestName, namedTest } from "../workloads/named-tests";
import type { Treatment, Factor, Levels } from "./factors";

export interface TreatmentPair {
  readonly base: Treatment;
  readonly other: Treatment;
}

/** They differ in a single factor, or only in the deployment. The baseline has the first level of the factor. */
export function comparedPairs(treatments: readonly Treatment[]): TreatmentPair[] {
  const [first] = treatments;
  if (first === undefined) return [];
  const find = (base: string, levels: Levels): Treatment | undefined =>
    treatments.find((treatment) => treatment.baseDeployment === base && sameLevels(treatment.levels, levels));
  return treatments.flatMap((other) => {
    const bases = compact([
      other.baseDeployment === first.baseDeployment ? undefined : find(first.baseDeployment, other.levels),
      ...(Object.keys(other.levels) as Factor[]).flatMap((factor) =>
        other.levels[factor] === first.levels[factor]
          ? []
          : [find(other.baseDeployment, { ...other.levels, [factor]: first.levels[factor] })],
      ),
    ]);
    return bases.map((base) => ({ base, other }));
  });
}

/** Both at full speed, equal numbers of nodes: pausing costs about 0.2 ms per slice, which cancels out. */
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

/** Such tests can run for any length of time. */
export function commonTests({ base, other }: TreatmentPair): TestName[] {
  return base.workload.tests.filter((test) => other.workload.tests.includes(test) && namedTest(test).leaves === "same");
}

function sameLevels(a: Levels, b: Levels): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<Factor>;
  return [...keys].every((key) => a[key] === b[key]);
}
