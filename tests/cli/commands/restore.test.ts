/** The lines that `restore` prints: PASS, or each difference. */
import { expect, it } from "vitest";
import { type ReportedOrder, formatComparisons } from "../../../cli/restoring/restore-report";
import type { Restore } from "../../../backup/archive/catalog";
import type { Comparison } from "../../../backup/rdb/comparing/compare";

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

it("counts the keys of each shard once, and says how far the instants are apart", () => {
  expect(lines(EQUAL).slice(-2)).toEqual([
    "The instants of the shards are within 200 ms.",
    "RESTORE shop: PASS — 10 keys of 2 shards: every key, value and TTL is the same as in the archive; " +
      "2 keys that expired since the instant were not compared.",
  ]);
});

it("names each difference and its server", () => {
  const key = Buffer.from("a\nb");
  const different: Comparison = {
    ...EQUAL,
    differing: 3,
    first: [
      { database: 0, key, kind: "missing" },
      { database: 2, key, kind: "different TTL" },
    ],
    libraries: ["#!lua name=a"],
    isEqual: false,
  };
  expect(lines(different).slice(-5)).toEqual([
    '  restored-1: database 0, key "a\\nb": missing',
    '  restored-1: database 2, key "a\\nb": different TTL',
    "  restored-1: and 1 more key",
    '  restored-1: library of functions "#!lua name=a" differs',
    "RESTORE shop: FAIL — restored-1: not the same data as in the archive.",
  ]);
  expect(lines(different).some((line) => /restored-1 +5 +1 +4$/.test(line))).toBe(true);
});

it("shows the archived shards and the new ones if the shape is different", () => {
  const shape = { shards: [[{ from: 0, to: 16383 }]], isArchived: false };
  expect(
    formatComparisons({ ...archived, shape }, [{ shard: "shard-0", server: "restored-0", comparison: EQUAL }]),
  ).toEqual([
    expect.stringMatching(/^ARCHIVED SHARD +SLOTS +INSTANT$/),
    expect.stringMatching(/^shard-0 +0-8191 +1970-01-01T00:00:01.000Z$/),
    expect.stringMatching(/^shard-1 +8192-16383 +1970-01-01T00:00:01.200Z$/),
    "",
    expect.stringMatching(/^SHARD +SLOTS +SERVER/),
    expect.stringMatching(/^shard-0 +0-16383 +restored-0 +5 +1 +0$/),
    "The instants of the shards are within 200 ms.",
    expect.stringContaining("PASS — 5 keys of 2 shards, now in 1 shard: every key, value and TTL is the same"),
  ]);
});

it("names the patterns of keys, and says that TTLs were moved", () => {
  const order = { ...archived, keys: { patterns: ["app:*", "b"] }, ttl: "remaining" as const };
  const comparisons = [{ shard: "shard-0", server: "restored-0", comparison: { ...EQUAL, expired: 0 } }];
  expect(formatComparisons(order, comparisons).at(-1)).toBe(
    "RESTORE shop: PASS — 5 keys (app:*, b) of 2 shards: every key, value and TTL is the same as in the archive, " +
      "with TTLs that are later by the time since the instant.",
  );
});

it("does not pass without a comparison", () => {
  expect(formatComparisons(archived, []).at(-1)).toContain("FAIL — the servers were not compared");
});
