import { setImmediate } from "node:timers/promises";

/** Number of items in one turn of the event loop: a few milliseconds of work. */
const AT_ONCE = 1_000;

/** Yields the items of a long list. Other work of the program has its turn after every 1,000 items. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  let count = 0;
  for (const item of items) {
    if (count++ % AT_ONCE === 0) await setImmediate();
    yield item;
  }
}
