/** Loading of archived data: how many databases the servers need, and when their data are not those of the sets. */
import { expect, it } from "vitest";
import type { Restore } from "../../../backup/archive/catalog";
import { loadingProblem, neededDatabases } from "../../../backup/restoring/loading";

type Sets = Pick<Restore, "period" | "shards">;

function restoreOf(slots: string | undefined, databases: number | undefined, ...used: readonly number[]): Sets {
  const [first, ...others] = used;
  const set = { base: { database: first }, increments: others.map((database) => ({ database })) };
  return { period: { shards: [{ name: "shard-0", slots }], databases }, shards: [{ set }] } as unknown as Sets;
}

it("needs every database that the sets name", () => {
  expect(neededDatabases(restoreOf(undefined, undefined, 0, 3))).toBe(16);
  expect(neededDatabases(restoreOf(undefined, undefined, 0, 40, 2))).toBe(41);
  expect(neededDatabases(restoreOf(undefined, 30, 20, 0))).toBe(30);
});

it("fails a server that has refused commands of its set", () => {
  expect(loadingProblem("restored-0", "# Stats\r\nunexpected_error_replies:0\r\n")).toBeUndefined();
  expect(loadingProblem("restored-0", "# Stats\r\nunexpected_error_replies:3\r\n")).toMatch(
    /^FAIL — restored-0 refused 3 commands of its set/,
  );
  expect(loadingProblem("restored-0", "# Stats\r\n")).toContain("an unknown number of commands");
});
