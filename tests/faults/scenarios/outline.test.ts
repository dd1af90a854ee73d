import { describe, expect, it } from "vitest";
import { outlineOf } from "../../../faults/scenarios/prepare";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import type { Verification } from "../../../valkey/verification/verify";

const shards = ["a", "b", "c"].map((primary) => ({ primary, replicas: [`${primary}-replica`] }));
const verification = {
  verdict: { shards: [...shards, { primary: undefined, replicas: [] }] },
} as unknown as Verification;
const subject = (initialPrimaries: readonly string[]): FaultSubject =>
  ({
    injector: { deployment: { mode: "cluster", nodes: [], directives: new Map() }, rediscoversPeers: true },
    shape: { primaries: 3, replicasPerPrimary: 1 },
    hasAutomaticFailover: true,
    initialPrimaries,
  }) as unknown as FaultSubject;
const struckOrder = (initialPrimaries: readonly string[]): string[] =>
  outlineOf(subject(initialPrimaries), verification).shards.map(({ primary }) => primary);

describe("the outline that a fault is planned on", () => {
  it("has the shards in the order in which the caller names their primaries", () => {
    expect(struckOrder(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    expect(struckOrder(["c", "a", "b"])).toEqual(["c", "a", "b"]);
  });

  it("has a primary that the caller does not name last, and no shard without a primary", () => {
    expect(struckOrder(["c"])).toEqual(["c", "a", "b"]);
    expect(struckOrder([])).toEqual(["a", "b", "c"]);
  });
});
