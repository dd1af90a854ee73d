/** The shape that a restore makes, and what does not fit into it. */
import { expect, it } from "vitest";
import { chooseShape, databasesProblem, namedDatabases } from "../../../backup/restoring/restore-shape";
import type { Restore } from "../../../backup/archive/catalog";

const period = (
  ...slots: readonly (string | undefined)[]
): { shards: { name: string; slots: string | undefined }[] } => ({
  shards: slots.map((each, index) => ({ name: `shard-${index}`, slots: each })),
});
const cluster = period("0-100 200", "101-199 201-9000", "9001-16383");
const replication = period(undefined);
const all = [[{ from: 0, to: 16383 }]];

it("is that of the archive without options, with the same slots", () => {
  const shape = {
    mode: "cluster",
    shards: [
      [
        { from: 0, to: 100 },
        { from: 200, to: 200 },
      ],
      [
        { from: 101, to: 199 },
        { from: 201, to: 9000 },
      ],
      [{ from: 9001, to: 16383 }],
    ],
    isArchived: true,
  };
  expect(chooseShape(cluster, {})).toEqual(shape);
  expect(chooseShape(cluster, { mode: "cluster", shards: 3 })).toEqual(shape);
  expect(chooseShape(replication, {})).toEqual({ mode: "replication", shards: all, isArchived: true });
});

it("divides the slots evenly between other numbers of shards, and has one shard in replication mode", () => {
  expect(chooseShape(cluster, { shards: 4 })).toMatchObject({
    isArchived: false,
    shards: [
      [{ from: 0, to: 4095 }],
      [{ from: 4096, to: 8191 }],
      [{ from: 8192, to: 12287 }],
      [{ from: 12288, to: 16383 }],
    ],
  });
  expect(chooseShape(cluster, { mode: "replication" })).toEqual({
    mode: "replication",
    shards: all,
    isArchived: false,
  });
  const formed = chooseShape(replication, { mode: "cluster" });
  expect(typeof formed === "object" && [formed.shards.length, formed.isArchived]).toEqual([3, false]);
  const grown = chooseShape(period("0-16383"), {});
  expect(typeof grown === "object" && [grown.shards.length, grown.isArchived]).toEqual([3, false]);
});

it("cannot have several shards in replication mode, or a cluster of two", () => {
  expect(chooseShape(replication, { shards: 3 })).toMatch(/--shards is 3: in replication mode.*--mode cluster/);
  expect(chooseShape(cluster, { mode: "replication", shards: 2 })).toMatch(/--shards is 2: in replication mode/);
  expect(chooseShape(cluster, { shards: 2 })).toMatch(/--shards is 2: a cluster has at least 3/);
});

it("names the databases that a cluster before Valkey 9 does not have", () => {
  expect(databasesProblem("cluster", [0, 3, 7], "8.1.4")).toMatch(/databases 3, 7.*only database 0.*Valkey 9/);
  expect(databasesProblem("cluster", [0], "8.1.4")).toBeUndefined();
  expect(databasesProblem("cluster", [0, 3], "9.0.0")).toBeUndefined();
  expect(databasesProblem("replication", [0, 3], "8.1.4")).toBeUndefined();
  const set = { base: { database: 2 }, increments: [{ databaseBefore: 0, database: 5 }] };
  expect(namedDatabases({ shards: [{ set }] } as unknown as Restore)).toEqual([2, 5]);
});
