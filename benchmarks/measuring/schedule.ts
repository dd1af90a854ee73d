/**
 * The order of measurements: rounds in which every variant is measured once, with a reference load before each round
 * and after the last one. Pure.
 */

/** One entry of the schedule. @typeParam V a variant, such as one test on one deployment */
export type ScheduledStep<V> =
  | { readonly kind: "reference-load"; readonly round: number }
  | { readonly kind: "measure"; readonly round: number; readonly variant: V };

/**
 * Orders variants in rounds. Each round measures one group after the other. Every second round reverses the order
 * within each group, so that a slow change of the machine does not favor one variant.
 * @param groups groups of variants that are compared with each other, such as one test on each deployment
 * @param repeats number of rounds; with 0, there is only one reference load
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
