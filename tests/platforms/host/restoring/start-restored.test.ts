/** The servers of a restore: how many databases they have, and when their data are not those of the sets. */
import { expect, it } from "vitest";
import { loadingProblem, neededDatabases, restoredPlan } from "../../../../platforms/host/restoring/start-restored";
import type { Restore } from "../../../../valkey/archive/catalog";

type Sets = Pick<Restore, "period" | "shards">;

function restoreOf(slots: string | undefined, databases: number | undefined, ...used: readonly number[]): Sets {
  const [first, ...others] = used;
  const set = { base: { database: first }, increments: others.map((database) => ({ database })) };
  return { period: { shards: [{ name: "shard-0", slots }], databases }, shards: [{ set }] } as unknown as Sets;
}

it("starts servers with every database that the sets name", () => {
  expect(neededDatabases(restoreOf(undefined, undefined, 0, 3))).toBe(16);
  expect(neededDatabases(restoreOf(undefined, undefined, 0, 40, 2))).toBe(41);
  expect(neededDatabases(restoreOf(undefined, 30, 20, 0))).toBe(30);
  const shape = (mode: "cluster" | "replication") => ({ mode, shards: [[]] });
  expect(restoredPlan(shape("replication"), 0, 41).settings).toMatchObject({ databases: 41 });
  expect(restoredPlan(shape("cluster"), 0, 3).settings).toMatchObject({ "cluster-databases": 3 });
  expect(restoredPlan(shape("cluster"), 0, 1).settings).not.toHaveProperty("cluster-databases");
});

it("fails a server that has refused commands of its set", () => {
  expect(loadingProblem("restored-0", "# Stats\r\nunexpected_error_replies:0\r\n")).toBeUndefined();
  expect(loadingProblem("restored-0", "# Stats\r\nunexpected_error_replies:3\r\n")).toMatch(
    /^FAIL — restored-0 refused 3 commands of its set/,
  );
  expect(loadingProblem("restored-0", "# Stats\r\n")).toContain("an unknown number of commands");
});
