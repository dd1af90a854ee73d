/** A value that was read from a node, or the reason why it could not be read. */

/** A value that was read from a node. If the value could not be read, `why` contains the reason as an error message. */
export type Observation<T> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly why: string };

export const observed = <T>(value: T): Observation<T> => ({ known: true, value });

export const unobserved = (why: string): Observation<never> => ({ known: false, why });

export function mapObservation<T, U>(observation: Observation<T>, pick: (value: T) => U): Observation<U> {
  return observation.known ? observed(pick(observation.value)) : observation;
}
