/** The repairs that outlive the controller's process. */
import { expect, it } from "vitest";
import { historyIn, historyNote } from "../../../operations/healing/repair-lock";

it("comes back from the Lease as it was written", () => {
  const history = { repairs: [1_000, 2_000], inVain: 2, isUnfinished: true };
  expect(historyIn({ other: "note", ...historyNote(history) })).toEqual(history);
});

it.each([
  ["a Lease without a history", {}],
  ["a history that somebody has edited", { "valkey/repairs": "{" }],
  ["a history of another form", { "valkey/repairs": '{"repairs": 3}' }],
])("is empty for %s", (_what, notes) => {
  expect(historyIn(notes)).toBeUndefined();
});
