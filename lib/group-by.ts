/** Groups lists by a key. */

/**
 * Groups values by a key. The keys are in the order of their first appearance. Map.groupBy is not used, because it
 * needs Node.js 21.
 */
export function groupBy<T, K>(values: Iterable<T>, keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
