import { describe, expect, it } from "vitest";
import type { MemberState } from "../../../valkey/membership/member-state";
import { openMigrations } from "../../../valkey/resize/open-migrations";
import {
  formerIdentities,
  halfJoinedNodes,
  lostIdentities,
  ownAllSlots,
  participants,
  resizeBlockers,
  resizeNodes,
  returnedEmpty,
  servesAllSlots,
} from "../../../valkey/resize/resize-facts";
import type { FakeNode } from "../../support/valkey/cluster-text";
import { fakeView, nodeIdOf } from "../../support/valkey/cluster-text";

const NODES: readonly FakeNode[] = [
  { name: "n-0", slots: "0-5460", epoch: 1 },
  { name: "n-1", slots: "5461-10922", epoch: 2 },
  { name: "n-2", slots: "10923-16383", epoch: 3 },
  { name: "n-3", primary: "n-0", epoch: 1 },
  { name: "n-4", primary: "n-1", epoch: 2 },
];
const NEW: FakeNode = { name: "n-9", epoch: 0 };
const none = new Set<string>();

/**
 * States of nodes, each with the view that `known` gives it, which includes itself. The marks of open migrations are
 * part of a node's own line.
 */
function states(
  nodes: readonly FakeNode[],
  known: (name: string) => readonly FakeNode[] = () => nodes,
  marks: Record<string, string> = {},
  keys: Record<string, number> = {},
): MemberState[] {
  return nodes.map(({ name }): MemberState => {
    const line = (each: FakeNode): FakeNode =>
      each.name === name && marks[name] !== undefined
        ? { ...each, slots: `${each.slots ?? ""} ${marks[name]}`.trim() }
        : each;
    return { name, zone: "a", view: fakeView(name, known(name).map(line)), keys: keys[name] ?? 0 };
  });
}

const names = (list: readonly MemberState[]): string[] => list.map(({ name }) => name);
const alone =
  (...those: string[]) =>
  (name: string): readonly FakeNode[] =>
    those.includes(name) ? [...NODES, NEW].filter((node) => node.name === name) : NODES;

describe("a cluster that is to be resized", () => {
  it("serves all slots when a node sees all of them served and the primaries know each other", () => {
    expect(servesAllSlots(states(NODES))).toBe(true);
    expect(servesAllSlots(states(NODES, (name) => NODES.filter((node) => node.name === name)))).toBe(false);
    // Formation was stopped while nodes met: n-0 knows all of them, n-1 and n-2 do not know each other yet.
    expect(
      servesAllSlots(
        states(NODES, (name) => NODES.filter((node) => name === "n-0" || node.name === "n-0" || node.name === name)),
      ),
    ).toBe(false);
  });

  it("consists of the nodes that know all primaries and are known to all of them", () => {
    expect(names(participants(states([...NODES, NEW], alone("n-9"))))).toEqual(names(states(NODES)));
    expect(names(participants(states(NODES, alone("n-4"))))).not.toContain("n-4");
  });

  it("has a leaving node until that node knows no other, and no other knows it", () => {
    const met = (list: readonly MemberState[]): boolean | undefined =>
      resizeNodes(list, new Set(["n-4"]), new Map()).find(({ name }) => name === "n-4")?.met;
    const forgotten = (name: string): readonly FakeNode[] =>
      NODES.filter((node) => (name === "n-4") === (node.name === "n-4"));
    expect(met(states(NODES))).toBe(true);
    expect(met(states(NODES, (name) => (name === "n-4" ? NODES : forgotten(name))))).toBe(true);
    expect(met(states(NODES, (name) => (name === "n-0" ? NODES : forgotten(name))))).toBe(true);
    expect(met(states(NODES, forgotten))).toBe(false);
  });

  it("resets nodes that only some others know, except replicas that stay and hold keys", () => {
    const leaving = new Set(["n-4"]);
    const keys = { "n-4": 3 };
    const forgetful = (who: readonly string[], data = {}): MemberState[] =>
      states(NODES, (name) => (who.includes(name) ? NODES.filter((node) => node.name !== "n-4") : NODES), {}, data);
    expect(halfJoinedNodes(states(NODES), leaving)).toEqual([]);
    for (const who of [["n-1"], ["n-0", "n-1", "n-2", "n-3"]]) {
      expect(halfJoinedNodes(forgetful(who), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who), none)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), none)).toEqual([]);
    }
    expect(halfJoinedNodes(states([...NODES, NEW], alone("n-9")), none)).toEqual([]);
    // n-10 is a replica of n-9, and could not forget it.
    const shard = [...NODES, { name: "n-9", epoch: 4 }, { name: "n-10", primary: "n-9", epoch: 4 }];
    expect(
      halfJoinedNodes(
        states(shard, (name) => (name === "n-0" ? shard.filter((node) => node.name !== "n-9") : shard)),
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
      const list = states(
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
    const list = states([...NODES, NEW], (name) => (name === "n-9" ? [NEW] : remembered), {}, keys);
    expect(lostIdentities(list, none)).toEqual(isLost ? [nodeIdOf("n-77")] : []);
    expect(resizeBlockers(list, none).length === 0).toBe(isLost);
    // A node that leaves takes nobody's place.
    expect(lostIdentities(list, new Set(["n-9"]))).toEqual([]);
  });

  it("is blocked by a node that remembers a node without an address and knows no primary of this cluster", () => {
    const list = states([...NODES, NEW], (name) =>
      name === "n-9" ? [NEW, { ...NEW, name: "n-77", host: "", port: 0, flags: "noaddr" }] : NODES,
    );
    expect(resizeBlockers(list, none).join("; ")).toMatch(/n-9 knows a node that is not part of this deployment/);
  });

  it.each<[string, MemberState[], RegExp]>([
    ["an unknown node", states([...NODES, NEW]).slice(0, 5), /knows a node that is not part of this deployment/],
    [
      "keys on a joining node",
      states([...NODES, NEW], alone("n-9"), {}, { "n-9": 3 }),
      /n-9 cannot join, because it would lose the 3 keys that it holds/,
    ],
    [
      "a primary that only some know",
      states(NODES, (name) => NODES.filter((node) => name !== "n-1" || node.name !== "n-2")),
      /n-1 serves slots, but n-1 and at least one other primary do not know each other/,
    ],
  ])("is blocked by %s", (_what, list, message) => {
    expect(resizeBlockers(list, none).join("; ")).toMatch(message);
    expect(resizeBlockers(states([...NODES, NEW], alone("n-9")), none)).toEqual([]);
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
    expect(openMigrations(states(NODES, undefined, marks))).toEqual({ begun: [migration], stale: [], reasons: [] });
  });

  it("that have ended, or whose source does not own the slot, leave stale marks", () => {
    expect(openMigrations(states(NODES, undefined, { "n-0": `[42-<-${nodeIdOf("n-1")}]` }))).toEqual({
      begun: [],
      stale: [{ slot: 42, node: "n-0" }],
      reasons: [],
    });
    expect(openMigrations(states(NODES, undefined, { "n-2": to }))).toEqual({
      begun: [],
      stale: [{ slot: 42, node: "n-2" }],
      reasons: [],
    });
    expect(openMigrations(states(NODES, undefined, { "n-0": `[42->-${nodeIdOf("n-77")}]` }))).toEqual({
      begun: [],
      stale: [{ slot: 42, node: "n-0" }],
      reasons: [],
    });
  });

  it("of one slot to two nodes are not ended", () => {
    const both = openMigrations(states(NODES, undefined, { "n-1": from, "n-2": `[42-<-${nodeIdOf("n-0")}]` }));
    expect(both.reasons).toEqual(["slot 42 is being imported by several nodes: n-1, n-2"]);
  });
});

describe("a node that comes back without its data", () => {
  const former: FakeNode = { name: "n-7", primary: "n-2", hostname: "n-9.orders-headless.shop.svc", flags: "fail" };
  const seenBy =
    (those: readonly FakeNode[]) =>
    (name: string): readonly FakeNode[] =>
      name === "n-9" ? [{ ...NEW, hostname: "n-9.orders-headless.shop.svc" }] : those;

  it("is empty and has no part in the cluster, and others know its host by another node ID or have met it", () => {
    const list = [...NODES, NEW];
    expect(returnedEmpty(states(list, seenBy([...NODES, former])))).toEqual(["n-9"]);
    // A node that is new.
    expect(returnedEmpty(states(list, seenBy(NODES)))).toEqual([]);
    // Others have met it already, which makes nothing of it yet, and may have forgotten what it was.
    expect(returnedEmpty(states(list))).toEqual(["n-9"]);
    expect(returnedEmpty(states(list, () => [...list, former]))).toEqual(["n-9"]);
    expect(
      lostIdentities(
        states(list, () => [...list, former]),
        none,
      ),
    ).toEqual([nodeIdOf("n-7")]);
    // One that has keys, or a primary.
    expect(returnedEmpty(states(list, seenBy([...NODES, former]), {}, { "n-9": 1 }))).toEqual([]);
    const joined = [...NODES, { ...NEW, primary: "n-2" }];
    expect(returnedEmpty(states(joined, () => [...joined, former]))).toEqual([]);
  });

  it("held nothing that the others do not have, if these serve every slot", () => {
    expect(ownAllSlots(states(NODES))).toBe(true);
    expect(ownAllSlots(states(NODES.filter(({ name }) => name !== "n-1")))).toBe(false);
    expect(ownAllSlots(states(NODES.filter(({ name }) => name !== "n-4")))).toBe(true);
  });
});
