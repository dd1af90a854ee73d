/** @typeParam V a variant, such as one test on one deployment */
type ScheduledStep<V> =
  | { readonly kind: "reference-load"; readonly round: number }
  | { readonly kind: "measure"; readonly round: number; readonly variant: V };

/**
 * Every second round reverses the order within each group, so that slow changes of the machine's speed favor no
 * variant.
 * @param repeats with 0, the schedule is a single reference load
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
