/** Lists of values that may be absent. */

/** The values that are not undefined, in their order: `compact([required, optional])`. */
export function compact<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
