/** The parts of the rows of backups that need no servers. */
import { expect, it } from "vitest";
import { selectIds } from "../../bench/catalogue";
import { type DataByCommands, cases, differencesBetween } from "../../bench/rows/backup/equal";
import { CHANGES } from "../../bench/rows/backup/hidden";

it("selects all rows of backups by one word", () => {
  expect([...selectIds(["backup"])]).toEqual([
    "backup-equal",
    "backup-hidden",
    "backup-rpo",
    "backup-p99-stream",
    "backup-p99-base",
    "backup-memory",
    "backup-restore",
    "backup-restore-pipelined",
    "backup-restore-compared",
    "backup-restore-memory",
    "backup-kills",
  ]);
});

it("restores 30 data sets, with all pairs of shapes, and each pair at most once from a version", () => {
  const all = cases();
  const pairs = new Set(all.map(({ from, to }) => `${from} ${to}`));
  expect([all.length, pairs.size]).toEqual([30, 16]);
  expect(new Set(all.map(({ version, from, to }) => `${version} ${from} ${to}`)).size).toBe(30);
});

it("hides changes that differ", () => {
  expect(new Set(CHANGES.map(({ what }) => what)).size).toBe(CHANGES.length);
});

it("finds keys that are missing, new or different, and libraries that a server lacks", () => {
  const data = (keys: Record<string, string>, ...libraries: string[][]): DataByCommands => ({
    keys: new Map(Object.entries(keys)),
    libraries,
  });
  const wanted = data({ a: "string 1", b: "string 2" }, ["lib"], []);
  expect(differencesBetween(wanted, data({ b: "string 2", a: "string 1" }, ["lib"]))).toEqual([]);
  expect(differencesBetween(wanted, data({ a: "string 9", c: "string 3" }, ["lib"], []))).toEqual([
    "a: string 1 has become string 9",
    "b is missing",
    "c is new",
    "libraries are , not lib",
  ]);
});
