import { describe, expect, it } from "vitest";
import { lostIdentities, returnedEmpty } from "../../../valkey/membership/returned-empty";
import { type FakeNode, memberStates, NEW, nodeIdOf, NODES } from "../../support/valkey/cluster-text";

const none = new Set<string>();

describe("a node that comes back without its data", () => {
  const former: FakeNode = { name: "n-7", primary: "n-2", hostname: "n-9.orders-headless.shop.svc", flags: "fail" };
  const seenBy =
    (those: readonly FakeNode[]) =>
    (name: string): readonly FakeNode[] =>
      name === "n-9" ? [{ ...NEW, hostname: "n-9.orders-headless.shop.svc" }] : those;

  it("is empty and has no part in the cluster, and others know its host by another node ID or have met it", () => {
    const list = [...NODES, NEW];
    expect(returnedEmpty(memberStates(list, seenBy([...NODES, former])))).toEqual(["n-9"]);
    // A node that is new.
    expect(returnedEmpty(memberStates(list, seenBy(NODES)))).toEqual([]);
    // Others have met it already, which makes nothing of it yet, and may have forgotten what it was.
    expect(returnedEmpty(memberStates(list))).toEqual(["n-9"]);
    expect(returnedEmpty(memberStates(list, () => [...list, former]))).toEqual(["n-9"]);
    expect(
      lostIdentities(
        memberStates(list, () => [...list, former]),
        none,
      ),
    ).toEqual([nodeIdOf("n-7")]);
    // One that has keys, or a primary.
    expect(returnedEmpty(memberStates(list, seenBy([...NODES, former]), {}, { "n-9": 1 }))).toEqual([]);
    const joined = [...NODES, { ...NEW, primary: "n-2" }];
    expect(returnedEmpty(memberStates(joined, () => [...joined, former]))).toEqual([]);
  });
});
