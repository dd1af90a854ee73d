/** The archive from which a new deployment is filled, as a stack file names it. */
import { expect, it } from "vitest";
import { describeRestoreFrom, restoreFromProblems, restoredInstant } from "../../../valkey/restoring/restore-from";

it("accepts folders and buckets", () => {
  expect(restoreFromProblems({ from: "/backups/shop" })).toEqual([]);
  expect(
    restoreFromProblems({
      ...{ from: "s3://backups/shop", endpoint: "https://s3.example.com", region: "here", pathStyle: true },
      ...{ at: "2026-11-24T08:00:00Z", keys: ["app:*"], ttl: "remaining" },
    }),
  ).toEqual([]);
});

it("names every problem at once, with the names of the stack file", () => {
  expect(restoreFromProblems({ from: "backups", at: "yesterday", keys: [""] })).toEqual([
    'from is "backups": expected the absolute path of a folder on this machine, or s3://BUCKET/PREFIX',
    'at is "yesterday": expected a time with a time zone, such as 2026-11-24T08:00:00Z',
    'keys has the pattern "", which no key matches; leave keys out to restore all keys',
  ]);
  expect(restoreFromProblems({ from: "/backups", endpoint: "https://s3.example.com" })).toEqual([
    "endpoint applies to a bucket only (s3://BUCKET/PREFIX)",
  ]);
  expect(restoreFromProblems({ from: "s3://B", endpoint: "https://me:secret@s3.example.com" })).toEqual([
    '"s3://B": "B" is not the name of a bucket; expected s3://BUCKET/PREFIX',
    "endpoint has a user or a password: credentials come from the environment only",
  ]);
});

it("describes the restore", () => {
  expect(describeRestoreFrom({ from: "/backups/shop" })).toBe("/backups/shop as of its last time");
  const at = "2026-11-24T08:00:00Z";
  expect(describeRestoreFrom({ from: "s3://b/shop", at, keys: ["app:*", "x"], ttl: "remaining" })).toBe(
    "s3://b/shop as of 2026-11-24T08:00:00Z, only keys app:*, x, with the TTLs that were left at this time",
  );
  expect(restoredInstant({ at })).toBe(Date.UTC(2026, 10, 24, 8));
  expect(restoredInstant({})).toBeUndefined();
});
