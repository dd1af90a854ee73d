/** The chain of a set's increments, which can be very long. */
import { expect, it } from "vitest";
import { chainOf } from "../../../backup/archive/increments";
import type { IncrementManifest } from "../../../backup/archive/manifests";

const facts = { version: 1 as const, replid: "a".repeat(40), sha256: "b".repeat(64), databaseBefore: 0, database: 0 };
const increment = (from: number, size: number, time: number): IncrementManifest => ({
  ...{ ...facts, size, from, to: from + size },
  instants: [[time, from + size]],
});

it("finds the longest chain, and gives other work its turn", async () => {
  const count = 20_000;
  const found = Array.from({ length: count }, (_, from) => increment(from, 1, from + 1));
  const late = [increment(0, 2, 2), increment(5, 0, 5), increment(count, 0, count + 5), increment(count + 9, 1, 0)];
  let turns = 0;
  const takeTurn = (): void => {
    turns++;
    other = setImmediate(takeTurn);
  };
  let other = setImmediate(takeTurn);
  const { chain, hasLater } = await chainOf([...found, ...late], 0);
  clearImmediate(other);
  // Three passes with a turn after 1,000 increments.
  expect(turns).toBeGreaterThan((3 * count) / 1_000 / 2);
  expect(hasLater).toBe(true);
  expect(chain.at(-1)).toEqual(late[2]);
  expect(chain.map(({ to }) => to).slice(0, 3)).toEqual([1, 2, 3]);
  expect(chain).toHaveLength(count + 1);
});
