import { describe, expect, it } from "vitest";
import type { ObservedNodeState } from "../../../faults/observation/observed-states";
import { followService, isRedundant, SILENT } from "../../../faults/observation/observed-states";

const primary: ObservedNodeState = { role: "primary", follows: undefined, linkUp: false, ok: true, slots: 0 };
const replica: ObservedNodeState = { ...primary, role: "replica", linkUp: true };
const expected = { mode: "replication", primaries: 1, replicasPerPrimary: 2 } as const;

describe("replicas that follow the Service of the primary", () => {
  it("follow the only primary", () => {
    const states = new Map([
      ["orders-0", primary],
      ["orders-1", replica],
      ["orders-2", { ...replica, follows: "orders-1" }],
    ]);
    expect([...followService(states).values()].map(({ follows }) => follows)).toEqual([
      undefined,
      "orders-0",
      "orders-1",
    ]);
    expect(isRedundant(followService(states), expected)).toBe(false);
    expect(isRedundant(followService(new Map([...states, ["orders-2", replica]])), expected)).toBe(true);
  });

  it("follow nobody where there is no primary, or more than one", () => {
    const follows = (first: ObservedNodeState, second: ObservedNodeState): string | undefined =>
      followService(new Map(Object.entries({ first, second, replica }))).get("replica")?.follows;
    expect(follows(primary, SILENT)).toBe("first");
    expect(follows(primary, primary)).toBeUndefined();
    expect(follows(replica, SILENT)).toBeUndefined();
  });
});
