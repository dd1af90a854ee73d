/** The shape that a restore makes, and what does not fit into it. */
import { expect, it } from "vitest";
import { chooseShape, databasesProblem, namedDatabases } from "../../../backup/restoring/restore-shape";
import type { Restore } from "../../../backup/archive/catalog";
import { expectReviewed } from "../../support/reviewed";

const period = (
  ...slots: readonly (string | undefined)[]
): { shards: { name: string; slots: string | undefined }[] } => ({
  shards: slots.map((each, index) => ({ name: `shard-${index}`, slots: each })),
});
const cluster = period("0-100 200", "101-199 201-9000", "9001-16383");
const replication = period(undefined);
it("is that of the archive, or has as many even shards as are asked for", async () => {
  await expectReviewed("backup/restore-shapes", "Shapes that a restore makes.", {
    "a cluster's": chooseShape(cluster, {}),
    "a cluster's with as many shards": chooseShape(cluster, { mode: "cluster", shards: 3 }),
    "a cluster's with more shards": chooseShape(cluster, { shards: 4 }),
    "a cluster's as replication": chooseShape(cluster, { mode: "replication" }),
    "a cluster's with one shard": chooseShape(period("0-16383"), {}),
    "replication's": chooseShape(replication, {}),
    "replication's as a cluster": chooseShape(replication, { mode: "cluster" }),
    "replication's with more shards": chooseShape(replication, { shards: 3 }),
    "a cluster's as replication with two shards": chooseShape(cluster, { mode: "replication", shards: 2 }),
    "a cluster's with two shards": chooseShape(cluster, { shards: 2 }),
  });
});

it("names the databases that a cluster before Valkey 9 does not have", () => {
  expect(databasesProblem("cluster", [0, 3, 7], "8.1.4")).toMatch(/databases 3, 7.*only database 0.*Valkey 9/);
  expect(databasesProblem("cluster", [0], "8.1.4")).toBeUndefined();
  expect(databasesProblem("cluster", [0, 3], "9.0.0")).toBeUndefined();
  expect(databasesProblem("replication", [0, 3], "8.1.4")).toBeUndefined();
  const set = { base: { database: 2 }, increments: [{ databaseBefore: 0, database: 5 }] };
  expect(namedDatabases({ shards: [{ set }] } as unknown as Restore)).toEqual([2, 5]);
});
