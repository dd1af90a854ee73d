/** The order of measurements: rounds in which every variant comes once, with a reference load around each. Pure. */

export type ScheduledStep<V> =
  | { readonly kind: "reference-load"; readonly round: number }
  | { readonly kind: "measure"; readonly round: number; readonly variant: V };

/**
 * Interleaves variants: within a round, test by test, the deployments in turn; every second round backwards, so
 * that a machine that drifts one way favours nobody. A reference load stands before each round and after the last.
 * @param groups variants to be compared with each other, such as one test on each deployment
 * @param repeats rounds, at least 1
 */
export function interleave<V>(groups: readonly (readonly V[])[], repeats: number): ScheduledStep<V>[] {
  const steps: ScheduledStep<V>[] = [];
  for (let round = 1; round <= repeats; round++) {
    steps.push({ kind: "reference-load", round });
    for (const group of groups) {
      const order = round % 2 === 0 ? [...group].reverse() : group;
      for (const variant of order) steps.push({ kind: "measure", round, variant });
    }
  }
  return [...steps, { kind: "reference-load", round: repeats + 1 }];
}
