import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { slowPingIntervalMs } from "../../../valkey/membership/meet";
import { type Member, describeDisagreement, membersWithDifferentView } from "../../../valkey/membership/members";
import type { ClusterView } from "../../../valkey/topology/cluster-view";
import { forAll } from "../../support/properties";

const member = (name: string): Member => ({ node: { name }, id: name }) as unknown as Member;
const view = (fingerprint: string, unlinked: readonly string[] = []): ClusterView => ({
  selfId: "",
  topology: { fingerprint, nodes: new Map() },
  unhealthy: [],
  heardAt: new Map(),
  unlinked,
  addresses: new Map(),
  openSlots: [],
});

describe("nodes that meet", () => {
  it("ping less often the more they are, so that all of them together send no more than those of a small cluster", () => {
    forAll([fc.integer({ min: 2, max: 490 })], (nodes) => {
      expect(slowPingIntervalMs(nodes + 1)).toBeGreaterThanOrEqual(slowPingIntervalMs(nodes));
      expect(((nodes * (nodes - 1)) / slowPingIntervalMs(nodes)) * 1000).toBeLessThanOrEqual(4001);
    });
    expect([6, 200, 2000].map(slowPingIntervalMs)).toEqual([250, 10_000, 60_000]);
  });

  it("are known by their view, where it differs from the most common one", () => {
    const members = ["a", "b", "c", "d"].map(member);
    const views = (...fingerprints: readonly string[]): ClusterView[] => fingerprints.map((each) => view(each));
    const same = views("x", "x", "x", "x");
    expect(membersWithDifferentView(members, views("x", "x", "y", "x")).map(({ id }) => id)).toEqual(["c"]);
    expect(membersWithDifferentView(members, same)).toEqual([]);
    expect(describeDisagreement(members, same)).toBeUndefined();
    expect(describeDisagreement(members, views("x", "x", "y", "z"))).toBe(
      "the nodes have 3 different views of the cluster",
    );
    expect(describeDisagreement(members, [view("x"), view("x", ["a"]), view("x"), view("y")])).toContain(
      "one node that lacks a link is b",
    );
  });
});
