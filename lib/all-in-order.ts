/**
 * Awaits all of the promises. For requests that end by themselves.
 * @throws the error of the first one in their order, not in time: a message that names a node is then the same in each run
 */
export async function allInOrder<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  const values: T[] = [];
  for (const promise of promises) values.push(await promise);
  return values;
}
