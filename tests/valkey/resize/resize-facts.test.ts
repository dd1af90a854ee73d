import { describe, expect, it } from "vitest";
import type { MemberState } from "../../../valkey/membership/member-state";
import { lostIdentities } from "../../../valkey/membership/returned-empty";
import { openMigrations } from "../../../valkey/resize/open-migrations";
import { formerIdentities, halfJoinedNodes, resizeBlockers, resizeNodes } from "../../../valkey/resize/resize-facts";
import { alone, memberStates, NEW, nodeIdOf, NODES, type FakeNode } from "../../support/valkey/cluster-text";
import { expectReviewed } from "../../support/reviewed";

const none = new Set<string>();

describe("a cluster that is to be resized", () => {
  it("has a leaving node until that node knows no other, and no other knows it", () => {
    const met = (list: readonly MemberState[]): boolean | undefined =>
      resizeNodes(list, new Set(["n-4"]), new Map()).find(({ name }) => name === "n-4")?.met;
    const forgotten = (name: string): readonly FakeNode[] =>
      NODES.filter((node) => (name === "n-4") === (node.name === "n-4"));
    expect(met(memberStates(NODES))).toBe(true);
    expect(met(memberStates(NODES, (name) => (name === "n-4" ? NODES : forgotten(name))))).toBe(true);
    expect(met(memberStates(NODES, (name) => (name === "n-0" ? NODES : forgotten(name))))).toBe(true);
    expect(met(memberStates(NODES, forgotten))).toBe(false);
  });

  it("resets nodes that only some others know, except replicas that stay and hold keys", () => {
    const leaving = new Set(["n-4"]);
    const keys = { "n-4": 3 };
    const forgetful = (who: readonly string[], data = {}): MemberState[] =>
      memberStates(
        NODES,
        (name) => (who.includes(name) ? NODES.filter((node) => node.name !== "n-4") : NODES),
        {},
        data,
      );
    expect(halfJoinedNodes(memberStates(NODES), leaving)).toEqual([]);
    for (const who of [["n-1"], ["n-0", "n-1", "n-2", "n-3"]]) {
      expect(halfJoinedNodes(forgetful(who), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who), none)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), none)).toEqual([]);
    }
    expect(halfJoinedNodes(memberStates([...NODES, NEW], alone("n-9")), none)).toEqual([]);
    // n-10 is a replica of n-9, and could not forget it.
    const shard = [...NODES, { name: "n-9", epoch: 4 }, { name: "n-10", primary: "n-9", epoch: 4 }];
    expect(
      halfJoinedNodes(
        memberStates(shard, (name) => (name === "n-0" ? shard.filter((node) => node.name !== "n-9") : shard)),
        none,
      ),
    ).toEqual(["n-9", "n-10"]);
  });

  it.each<[string, Partial<FakeNode>, readonly string[], string | RegExp]>([
    ["at the address of a node", {}, ["n-9"], "n-9"],
    ["without an address", { host: "", port: 0, flags: "noaddr" }, ["n-9"], "n-9"],
    // A node that was forgotten by others may be accepted again after a minute.
    ["in the view of a participant", { host: "", port: 0, flags: "noaddr" }, ["n-4"], "n-4"],
    ["at another address", { host: "10.0.0.9" }, ["n-9"], /n-9 knows a node that is not part of this deployment/],
    ["with slots", { slots: "7" }, ["n-9"], /n-9 knows a node that is not part of this deployment/],
    [
      "in the view of a primary with slots as well",
      {},
      ["n-9", "n-0"],
      /n-0 knows a node that is not part of this deployment/,
    ],
    ["in handshake", { flags: "handshake" }, ["n-4"], ""],
  ])(
    "is not blocked by a node that remembers a former identity of another, and resets that node: %s",
    (_where, former, knowers, found) => {
      const known = (name: string): readonly FakeNode[] => [
        ...NODES,
        ...(name === "n-9" || knowers.includes(name) ? [NEW] : []),
        ...(knowers.includes(name) ? [{ ...NEW, name: "n-77", ...former }] : []),
      ];
      const list = memberStates(
        [...NODES, NEW],
        (name) => (name === "n-9" && !knowers.includes(name) ? [NEW] : known(name)),
        {},
        { "n-4": 5 },
      );
      if (typeof found !== "string") expect(resizeBlockers(list, none).join("; ")).toMatch(found);
      else {
        expect(resizeBlockers(list, none)).toEqual([]);
        expect(
          halfJoinedNodes(list, none)
            .filter((name) => knowers.includes(name))
            .join(),
        ).toBe(found);
        // A repair makes nodes forget that identity first, because a reset would drop the keys of n-4.
        expect(formerIdentities(list)).toEqual(found === "" ? [] : [nodeIdOf("n-77")]);
      }
    },
  );

  it.each<[string, Partial<FakeNode>, Record<string, number>, boolean]>([
    ["failed", { flags: "fail" }, {}, true],
    ["has no address any more", { host: "", port: 0, flags: "noaddr" }, {}, true],
    ["still answers", {}, {}, false],
    ["serves slots", { flags: "fail", slots: "7" }, {}, false],
    ["failed, and the new node holds keys", { flags: "fail" }, { "n-9": 1 }, false],
  ])("has lost a member that came back empty when its former identity %s", (_what, former, keys, isLost) => {
    const remembered = [...NODES, { name: "n-77", epoch: 0, ...former }];
    const list = memberStates([...NODES, NEW], (name) => (name === "n-9" ? [NEW] : remembered), {}, keys);
    expect(lostIdentities(list, none)).toEqual(isLost ? [nodeIdOf("n-77")] : []);
    expect(resizeBlockers(list, none).length === 0).toBe(isLost);
    // A node that leaves takes nobody's place.
    expect(lostIdentities(list, new Set(["n-9"]))).toEqual([]);
  });

  it("is blocked by a node that remembers a node without an address and knows no primary of this cluster", () => {
    const list = memberStates([...NODES, NEW], (name) =>
      name === "n-9" ? [NEW, { ...NEW, name: "n-77", host: "", port: 0, flags: "noaddr" }] : NODES,
    );
    expect(resizeBlockers(list, none).join("; ")).toMatch(/n-9 knows a node that is not part of this deployment/);
  });

  it("is blocked, with a reason, unless a node joins that knows nobody", async () => {
    const blocked: Readonly<Record<string, MemberState[]>> = {
      "an unknown node": memberStates([...NODES, NEW]).slice(0, 5),
      "keys on a joining node": memberStates([...NODES, NEW], alone("n-9"), {}, { "n-9": 3 }),
      "a primary that only some know": memberStates(NODES, (name) =>
        NODES.filter((node) => name !== "n-1" || node.name !== "n-2"),
      ),
    };
    const found = Object.entries(blocked).map(([what, list]) => [what, resizeBlockers(list, none)] as const);
    await expectReviewed("valkey/blocked-resizes", "Why clusters cannot be resized.", found);
    expect(resizeBlockers(memberStates([...NODES, NEW], alone("n-9")), none)).toEqual([]);
  });
});

describe("open migrations", () => {
  const [to, from] = [`[42->-${nodeIdOf("n-1")}]`, `[42-<-${nodeIdOf("n-0")}]`];
  const migration = { slot: 42, from: "n-0", to: "n-1" };

  it.each<[string, Record<string, string>]>([
    ["on both sides", { "n-0": to, "n-1": from }],
    ["at the source only", { "n-0": to }],
    ["at the target only", { "n-1": from }],
    ["at a replica of the target only", { "n-4": from }],
    ["at all four", { "n-0": to, "n-1": from, "n-3": to, "n-4": from }],
  ])("are recognized by marks %s", (_where, marks) => {
    expect(openMigrations(memberStates(NODES, undefined, marks))).toEqual({
      begun: [migration],
      stale: [],
      reasons: [],
    });
  });

  it.each([
    ["n-0", `[42-<-${nodeIdOf("n-1")}]`],
    ["n-2", to],
    ["n-0", `[42->-${nodeIdOf("n-77")}]`],
  ])("that have ended, or whose source does not own the slot, leave stale marks: %s %s", (node, mark) => {
    const stale = [{ slot: 42, node }];
    expect(openMigrations(memberStates(NODES, undefined, { [node]: mark }))).toEqual({ begun: [], stale, reasons: [] });
  });

  it("of one slot to two nodes are not ended", () => {
    const both = openMigrations(memberStates(NODES, undefined, { "n-1": from, "n-2": `[42-<-${nodeIdOf("n-0")}]` }));
    expect(both.reasons).toEqual(["slot 42 is being imported by several nodes: n-1, n-2"]);
  });
});
