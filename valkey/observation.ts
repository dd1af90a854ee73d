/** What a node was asked: its answer, or the reason why there is none. */
/** Something read from a node, or why it could not be. */
export type Learnt<T> = { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export const known = <T>(value: T): Learnt<T> => ({ known: true, value });

export const unknown = (why: string): Learnt<never> => ({ known: false, why });

/** Applies `pick` to what is known. */
export function mapLearnt<T, U>(learnt: Learnt<T>, pick: (value: T) => U): Learnt<U> {
  return learnt.known ? known(pick(learnt.value)) : learnt;
}
