export function compact<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}
