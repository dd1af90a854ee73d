/** A value that was read from a node, or the reason why it could not be read. */

/** Answer of a node. `why` is the reason for having no answer, as an error message. */
export type Observation<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

/** An answer. */
export const observed = <T>(value: T): Observation<T> => ({ known: true, value });

/** No answer. @param why the reason, as an error message */
export const unobserved = (why: string): Observation<never> => ({ known: false, why });

/** Applies `pick` to an answer; leaves the reason for having none as it is. */
export function mapObservation<T, U>(observation: Observation<T>, pick: (value: T) => U): Observation<U> {
  return observation.known ? observed(pick(observation.value)) : observation;
}
