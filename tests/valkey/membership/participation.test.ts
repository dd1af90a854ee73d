import { describe, expect, it } from "vitest";
import { type MemberState, ownAllSlots, participants, servesAllSlots } from "../../../valkey/membership/member-state";
import { alone, memberStates, NEW, NODES } from "../../support/valkey/cluster-text";

const names = (list: readonly MemberState[]): string[] => list.map(({ name }) => name);

describe("a cluster", () => {
  it("serves all slots when a node sees all of them served and the primaries know each other", () => {
    expect(servesAllSlots(memberStates(NODES))).toBe(true);
    expect(servesAllSlots(memberStates(NODES, (name) => NODES.filter((node) => node.name === name)))).toBe(false);
    // Formation was stopped while nodes met: n-0 knows all of them, n-1 and n-2 do not know each other yet.
    expect(
      servesAllSlots(
        memberStates(NODES, (name) =>
          NODES.filter((node) => name === "n-0" || node.name === "n-0" || node.name === name),
        ),
      ),
    ).toBe(false);
  });

  it("consists of the nodes that know all primaries and are known to all of them", () => {
    expect(names(participants(memberStates([...NODES, NEW], alone("n-9"))))).toEqual(names(memberStates(NODES)));
    expect(names(participants(memberStates(NODES, alone("n-4"))))).not.toContain("n-4");
  });
});

describe("a set of nodes", () => {
  it("held nothing that the others do not have, if these serve every slot", () => {
    expect(ownAllSlots(memberStates(NODES))).toBe(true);
    expect(ownAllSlots(memberStates(NODES.filter(({ name }) => name !== "n-1")))).toBe(false);
    expect(ownAllSlots(memberStates(NODES.filter(({ name }) => name !== "n-4")))).toBe(true);
  });
});
