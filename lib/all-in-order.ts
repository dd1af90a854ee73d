/**
 * Waits until all have settled, so each needs its own time limit.
 * @throws the error that is first in the list, so that every run reports the same node
 */
export async function allInOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}
