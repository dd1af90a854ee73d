/** The archive from which a new deployment is filled, as a stack file names it. */
import { expect, it } from "vitest";
import { testProblems } from "../../support/problems";
import { describeRestoreFrom, restoreFromProblems, restoredInstant } from "../../../backup/restoring/restore-from";

it("accepts folders and buckets", () => {
  expect(restoreFromProblems({ from: "/backups/shop" })).toEqual([]);
  expect(
    restoreFromProblems({
      ...{ from: "s3://backups/shop", endpoint: "https://s3.example.com", region: "here", pathStyle: true },
      ...{ at: "2026-11-24T08:00:00Z", keys: ["app:*"], ttl: "remaining" },
    }),
  ).toEqual([]);
});

const WRONG = { from: "backups", at: "yesterday", keys: [""] };
const SECRET = { from: "s3://B", endpoint: "https://me:secret@s3.example.com" };

testProblems("../restore-problems.txt", restoreFromProblems, [
  ["not-a-place from", WRONG],
  ["wrong-time at", WRONG],
  ["empty-pattern keys", WRONG],
  ["needs-bucket endpoint", { from: "/backups", endpoint: "https://s3.example.com" }],
  ['bucket-name "s3://B"', SECRET],
  ["endpoint-with-user endpoint", SECRET],
]);

it("describes the restore", () => {
  expect(describeRestoreFrom({ from: "/backups/shop" })).toBe("/backups/shop as of its last time");
  const at = "2026-11-24T08:00:00Z";
  expect(describeRestoreFrom({ from: "s3://b/shop", at, keys: ["app:*", "x"], ttl: "remaining" })).toBe(
    "s3://b/shop as of 2026-11-24T08:00:00Z, only keys app:*, x, with the TTLs that were left at this time",
  );
  expect(restoredInstant({ at })).toBe(Date.UTC(2026, 10, 24, 8));
  expect(restoredInstant({})).toBeUndefined();
});
