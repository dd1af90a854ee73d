/**
 * Awaits all promises. It is meant for requests to several nodes that end by themselves.
 * @throws the error of the failed promise that is first in the list, even if a later promise failed earlier. If several
 *   nodes fail, every run therefore reports the same node
 */
export async function allInOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}
