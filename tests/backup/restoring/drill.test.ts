/** The reason for which a comparison proves nothing. */
import { expect, it } from "vitest";
import { drillProblem } from "../../../backup/restorer/tasks";

const EQUAL = { keys: [5, 5] as const, expired: 0, differing: 0, first: [], libraries: [], isEqual: true };

it("is undefined only if all keys were compared and are equal", () => {
  expect(drillProblem(EQUAL)).toBeUndefined();
  expect(drillProblem({ ...EQUAL, expired: 1 })).toBe("1 key expired during the drill and could not be compared");
});

it("names the first three keys and each library", () => {
  const first = ["a", 'b"', "c", "d"].map((key) => ({ database: 3, key: Buffer.from(key), kind: "missing" as const }));
  const problem = drillProblem({ ...EQUAL, isEqual: false, differing: 4, first, libraries: ["#!lua name=lib"] });
  expect(problem).toBe(
    '5 differences from the archive (missing: database 3, key "a"; missing: database 3, key "b\\""; ' +
      'missing: database 3, key "c"; library of functions "#!lua name=lib")',
  );
});
