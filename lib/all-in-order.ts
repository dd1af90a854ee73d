/**
 * Awaits all promises, such as requests to several nodes. It waits until every promise has settled, so each request
 * needs its own time limit.
 * @throws the error of the failed promise that is first in the list, even if a later promise in the list failed
 * earlier. So if several nodes fail, every run reports the error of the same node
 */
export async function allInOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}
