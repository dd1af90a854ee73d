/** What a node was asked: its answer, or the reason why there is none. */
/** Something read from a node, or why it could not be. */
export type Observation<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export const observed = <T>(value: T): Observation<T> => ({ known: true, value });

export const unobserved = (why: string): Observation<never> => ({ known: false, why });

/** Applies `pick` to what is known. */
export function mapObservation<T, U>(learnt: Observation<T>, pick: (value: T) => U): Observation<U> {
  return learnt.known ? observed(pick(learnt.value)) : learnt;
}
