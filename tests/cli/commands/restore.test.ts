/** The lines that `restore` prints: PASS, or each difference. */
import { it } from "vitest";
import { type ReportedOrder, formatComparisons } from "../../../cli/restoring/restore-report";
import type { Restore } from "../../../backup/archive/catalog";
import type { Comparison } from "../../../backup/rdb/comparing/compare";
import { expectReviewed } from "../../support/reviewed";

const EQUAL: Comparison = { keys: [5, 5], expired: 1, differing: 0, first: [], libraries: [], isEqual: true };
const shard = (name: string, slots: string, at: number): Restore["shards"][number] =>
  ({ name, slots, point: { at, offset: 0 } }) as unknown as Restore["shards"][number];
const restored = {
  owner: { deployment: "shop", mode: "cluster" as const, nodes: [] },
  shards: [shard("shard-0", "0-8191", 1000), shard("shard-1", "8192-16383", 1200)],
};
const archived: ReportedOrder = {
  restored,
  shape: { shards: [[{ from: 0, to: 8191 }], [{ from: 8192, to: 16383 }]], isArchived: true },
  keys: { patterns: [] },
  ttl: "absolute",
};
const lines = (second: Comparison): string[] =>
  formatComparisons(archived, [
    { shard: "shard-0", server: "restored-0", comparison: EQUAL },
    { shard: "shard-0", server: "restored-2", comparison: EQUAL },
    { shard: "shard-1", server: "restored-1", comparison: second },
  ]);

it("says PASS, or names each difference and its server", async () => {
  const key = Buffer.from("a\nb");
  const different: Comparison = {
    ...{ ...EQUAL, differing: 3, libraries: ["#!lua name=a"], isEqual: false },
    first: [
      { database: 0, key, kind: "missing" },
      { database: 2, key, kind: "different TTL" },
    ],
  };
  const shape = { shards: [[{ from: 0, to: 16383 }]], isArchived: false };
  const one = { shard: "shard-0", server: "restored-0", comparison: EQUAL };
  const some = { ...archived, keys: { patterns: ["app:*", "b"] }, ttl: "remaining" as const };
  await expectReviewed("cli/restore-report", "Lines that `restore` prints.", {
    "the same data": lines(EQUAL),
    "different data": lines(different),
    "the same data in another shape": formatComparisons({ ...archived, shape }, [one]),
    "patterns of keys, and TTLs that were moved": formatComparisons(some, [
      { ...one, comparison: { ...EQUAL, expired: 0 } },
    ]),
    "no comparison": formatComparisons(archived, []),
  });
});
