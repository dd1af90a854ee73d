/** Lists of values, some of which can be undefined. */

/** The given values without undefined values, in the given order: `compact([required, optional])`. */
export function compact<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
