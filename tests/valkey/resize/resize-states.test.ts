import { describe, expect, it } from "vitest";
import { RESIZE_TRANSITIONS } from "../../../valkey/resize/resize-cluster";

const transitions: Readonly<Record<string, readonly string[]>> = RESIZE_TRANSITIONS;

function reachableFrom(state: string): Set<string> {
  const reached = new Set([state]);
  for (const each of reached) for (const next of transitions[each] ?? []) reached.add(next);
  return reached;
}

describe("the states of a resize", () => {
  it("can all be reached from inspect, and all lead to fitted", () => {
    expect(reachableFrom("inspect")).toEqual(new Set([...Object.keys(transitions), "fitted"]));
    for (const state of Object.keys(transitions)) expect(reachableFrom(state)).toContain("fitted");
  });

  it("carry out a plan only after open migrations have ended and keys were deleted", () => {
    const predecessors = (state: string): string[] =>
      Object.keys(transitions).filter((each) => transitions[each]?.includes(state));
    expect(predecessors("execute")).toEqual(["plan"]);
    expect(predecessors("plan")).toEqual(["awaitDeletedKeys"]);
    expect(predecessors("awaitDeletedKeys")).toEqual(["finishOpenMigrations"]);
  });
});
