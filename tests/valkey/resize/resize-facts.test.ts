import { describe, expect, it } from "vitest";
import type { MemberState } from "../../../valkey/formation/formation-steps";
import {
  halfJoinedNodes,
  resizeBlockers,
  openMigrations,
  participants,
  resizeNodes,
  servesAllSlots,
} from "../../../valkey/resize/resize-facts";
import type { FakeNode } from "../../support/cluster-text";
import { fakeView, nodeIdOf } from "../../support/cluster-text";

const NODES: readonly FakeNode[] = [
  { name: "n-0", slots: "0-5460", epoch: 1 },
  { name: "n-1", slots: "5461-10922", epoch: 2 },
  { name: "n-2", slots: "10923-16383", epoch: 3 },
  { name: "n-3", primary: "n-0", epoch: 1 },
  { name: "n-4", primary: "n-1", epoch: 2 },
];
const NEW: FakeNode = { name: "n-9", epoch: 0 };
const nobody = new Set<string>();

/** States of nodes that each know who `known` says, themselves included; marks of open moves are part of a node's own line. */
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
  it("serves all slots when somebody sees them served, and not before", () => {
    expect(servesAllSlots(states(NODES))).toBe(true);
    expect(servesAllSlots(states(NODES, (name) => NODES.filter((node) => node.name === name)))).toBe(false);
    // Formation was stopped between introductions: n-0 sees all of it, and n-1 and n-2 not yet each other.
    expect(
      servesAllSlots(
        states(NODES, (name) => NODES.filter((node) => name === "n-0" || node.name === "n-0" || node.name === name)),
      ),
    ).toBe(false);
  });

  it("consists of those whom all primaries know and who know all primaries", () => {
    expect(names(participants(states([...NODES, NEW], alone("n-9"))))).toEqual(names(states(NODES)));
    expect(names(participants(states(NODES, alone("n-4"))))).not.toContain("n-4");
  });

  it("has a leaving node until it knows nobody and nobody knows it", () => {
    const met = (list: readonly MemberState[]): boolean | undefined =>
      resizeNodes(list, new Set(["n-4"]), new Map()).find(({ name }) => name === "n-4")?.met;
    const forgotten = (name: string): readonly FakeNode[] =>
      NODES.filter((node) => (name === "n-4") === (node.name === "n-4"));
    expect(met(states(NODES))).toBe(true);
    expect(met(states(NODES, (name) => (name === "n-4" ? NODES : forgotten(name))))).toBe(true);
    expect(met(states(NODES, (name) => (name === "n-0" ? NODES : forgotten(name))))).toBe(true);
    expect(met(states(NODES, forgotten))).toBe(false);
  });

  it("is apart from nodes whom some forgot, or who alone do not know, but for replicas that are to stay and have data", () => {
    const leaving = new Set(["n-4"]);
    const keys = { "n-4": 3 };
    const forgetful = (who: readonly string[], data = {}): MemberState[] =>
      states(NODES, (name) => (who.includes(name) ? NODES.filter((node) => node.name !== "n-4") : NODES), {}, data);
    expect(halfJoinedNodes(states(NODES), leaving)).toEqual([]);
    for (const who of [["n-1"], ["n-0", "n-1", "n-2", "n-3"]]) {
      expect(halfJoinedNodes(forgetful(who), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who), nobody)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), leaving)).toEqual(["n-4"]);
      expect(halfJoinedNodes(forgetful(who, keys), nobody)).toEqual([]);
    }
    expect(halfJoinedNodes(states([...NODES, NEW], alone("n-9")), nobody)).toEqual([]);
    // A replica still follows it, and could not forget it.
    const shard = [...NODES, { name: "n-9", epoch: 4 }, { name: "n-10", primary: "n-9", epoch: 4 }];
    expect(
      halfJoinedNodes(
        states(shard, (name) => (name === "n-0" ? shard.filter((node) => node.name !== "n-9") : shard)),
        nobody,
      ),
    ).toEqual(["n-9", "n-10"]);
  });

  it.each<[string, Partial<FakeNode>, readonly string[], string | RegExp]>([
    ["at an address that is a node's here", {}, ["n-9"], "n-9"],
    ["without an address", { host: "", port: 0, flags: "noaddr" }, ["n-9"], "n-9"],
    // Who was forgotten finds its way back after a minute.
    ["in the view of one that takes part", { host: "", port: 0, flags: "noaddr" }, ["n-4"], "n-4"],
    ["at another address", { host: "10.0.0.9" }, ["n-9"], /n-9 knows a node that is not part of this deployment/],
    ["with slots", { slots: "7" }, ["n-9"], /n-9 knows a node that is not part of this deployment/],
    ["that one with slots knows as well", {}, ["n-9", "n-0"], /n-0 knows a node that is not part of this deployment/],
    ["that is but a handshake", { flags: "handshake" }, ["n-4"], ""],
  ])(
    "has no strangers, and nodes to be reset, where these remember others from before their reset: %s",
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
      if (typeof found !== "string") expect(resizeBlockers(list, nobody).join("; ")).toMatch(found);
      else {
        expect(resizeBlockers(list, nobody)).toEqual([]);
        expect(
          halfJoinedNodes(list, nobody)
            .filter((name) => knowers.includes(name))
            .join(),
        ).toBe(found);
      }
    },
  );

  it("refuses who remembers a node without an address and knows nothing of this cluster", () => {
    const list = states([...NODES, NEW], (name) =>
      name === "n-9" ? [NEW, { ...NEW, name: "n-77", host: "", port: 0, flags: "noaddr" }] : NODES,
    );
    expect(resizeBlockers(list, nobody).join("; ")).toMatch(/n-9 knows a node that is not part of this deployment/);
  });

  it.each<[string, MemberState[], RegExp]>([
    ["a stranger", states([...NODES, NEW]).slice(0, 5), /knows a node that is not part of this deployment/],
    [
      "keys on a node that is to join",
      states([...NODES, NEW], alone("n-9"), {}, { "n-9": 3 }),
      /n-9 is to join but holds 3 keys of its own/,
    ],
    [
      "a primary that not all know",
      states(NODES, (name) => NODES.filter((node) => name !== "n-1" || node.name !== "n-2")),
      /n-1 serves slots and does not know all other primaries/,
    ],
  ])("is left alone for %s", (_what, list, message) => {
    expect(resizeBlockers(list, nobody).join("; ")).toMatch(message);
    expect(resizeBlockers(states([...NODES, NEW], alone("n-9")), nobody)).toEqual([]);
  });
});

describe("open moves", () => {
  const [to, from] = [`[42->-${nodeIdOf("n-1")}]`, `[42-<-${nodeIdOf("n-0")}]`];
  const move = { slot: 42, from: "n-0", to: "n-1" };

  it.each<[string, Record<string, string>]>([
    ["on both sides", { "n-0": to, "n-1": from }],
    ["at the source only", { "n-0": to }],
    ["at the target only", { "n-1": from }],
    ["at a replica of the target only", { "n-4": from }],
    ["at all four", { "n-0": to, "n-1": from, "n-3": to, "n-4": from }],
  ])("are known by marks %s", (_where, marks) => {
    expect(openMigrations(states(NODES, undefined, marks))).toEqual({ begun: [move], stale: [], reasons: [] });
  });

  it("that have ended, or were made by nobody who has the slot, leave marks to be taken off", () => {
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

  it("of one slot to two nodes are nobody's to finish", () => {
    const both = openMigrations(states(NODES, undefined, { "n-1": from, "n-2": `[42-<-${nodeIdOf("n-0")}]` }));
    expect(both.reasons).toEqual(["slot 42 is being taken over by several nodes: n-1, n-2"]);
  });
});
