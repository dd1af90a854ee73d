/**
 * Awaits all of the promises. The function is meant for requests that end by themselves.
 * @throws the error of the first failed promise in the order of the list, even if a later promise failed earlier. So a
 *   message that names a node is the same in every run
 */
export async function allInOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}
