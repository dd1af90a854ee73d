/** Whether the running part of a deployment can do without its other nodes. */
import { describe, expect, it } from "vitest";
import { observed } from "../../../valkey/observation";
import type { DeploymentFacts, NodeFacts } from "../../../valkey/verification/facts";
import { whyPartLacksData } from "../../../valkey/verification/running-part";
import { judgeFacts } from "../../../valkey/verification/verify";
import { formatRanges } from "../../../valkey/topology/slots";
import { type FakeNode, fakeView } from "../../support/valkey/cluster-text";
import { clusterFacts, infoReply, patch, viewedNodes } from "../../support/valkey/facts";

const all = clusterFacts(3, 1);
const { shards } = judgeFacts(all);
const lostReplica = shards[0]?.replicas[0] ?? "";
const lostPrimary = shards[0]?.primary ?? "";

/** The part without a node. @param change changes the nodes that every view shows */
function without(name: string, change: (nodes: FakeNode[]) => FakeNode[]): DeploymentFacts {
  const known = change(viewedNodes(all));
  const nodes = all.nodes
    .filter(({ node }) => node.name !== name)
    .map((each): NodeFacts => ({ ...each, view: observed(fakeView(each.node.name, known)) }));
  return { ...all, shape: { primaries: 3 }, skippedAssertions: ["zones", "settings"], nodes };
}

describe("the running part of a cluster", () => {
  it("can do without a replica that all consider failed, or have forgotten", () => {
    expect(whyPartLacksData(without(lostReplica, patch(lostReplica, { flags: "fail" })))).toBeUndefined();
    expect(whyPartLacksData(without(lostReplica, (n) => n.filter(({ name }) => name !== lostReplica)))).toBeUndefined();
  });

  it.each([
    ["works", {}],
    ["is only suspected", { flags: "fail?" }],
  ])("cannot do without a replica that %s for the others", (_, changes) => {
    expect(whyPartLacksData(without(lostReplica, patch(lostReplica, changes)))).toMatch(
      /does not consider .* failed yet/,
    );
  });

  it("cannot do without a primary from which nobody has taken over", () => {
    expect(whyPartLacksData(without(lostPrimary, patch(lostPrimary, { flags: "fail" })))).toMatch(
      /no node of the deployment serves/,
    );
  });

  it("can do without a primary from which a replica has taken over", () => {
    const slots = formatRanges(shards[0]?.slots ?? []);
    const takenOver = (nodes: FakeNode[]): FakeNode[] =>
      nodes.map((each) => {
        if (each.name === lostPrimary) return { name: each.name, flags: "fail" };
        return each.name === lostReplica ? { name: each.name, slots, epoch: 9 } : each;
      });
    const part = without(lostPrimary, takenOver);
    const nodes = part.nodes.map((each) =>
      each.node.name === lostReplica ? { ...each, info: observed(infoReply("primary")) } : each,
    );
    expect(whyPartLacksData({ ...part, nodes })).toBeUndefined();
  });

  it("can do without a node whose role a new node of the part does not know, but not while it disagrees on itself", () => {
    const failed = patch(lostReplica, { flags: "fail" });
    const part = without(lostReplica, failed);
    const newcomer = shards[1]?.replicas[0] ?? "";
    const seenBy = (view: NodeFacts["view"]): DeploymentFacts => ({
      ...part,
      nodes: part.nodes.map((each) => (each.node.name === newcomer ? { ...each, view } : each)),
    });
    const known = (changes: (nodes: FakeNode[]) => FakeNode[]): NodeFacts["view"] =>
      observed(fakeView(newcomer, changes(viewedNodes(all))));
    // Without its primary.
    const vague = known((nodes) =>
      nodes.map((each) => (each.name === lostReplica ? { name: each.name, flags: "fail" } : each)),
    );
    expect(whyPartLacksData(seenBy(vague))).toBeUndefined();
    const elsewhere = known((nodes) => patch(newcomer, { primary: shards[2]?.primary ?? "" })(failed(nodes)));
    expect(whyPartLacksData(seenBy(elsewhere))).toMatch(/do not agree on roles and slots/);
  });

  it("can do nothing while one of its own nodes fails, loads or is not linked", () => {
    const failed = patch(lostReplica, { flags: "fail" });
    const other = shards[1]?.replicas[0] ?? "";
    const part = without(lostReplica, failed);
    const withInfo = (changes: Record<string, string>): DeploymentFacts => ({
      ...part,
      nodes: part.nodes.map((each) =>
        each.node.name === other ? { ...each, info: observed(infoReply("replica", changes)) } : each,
      ),
    });
    expect(whyPartLacksData(withInfo({}))).toBeUndefined();
    expect(whyPartLacksData(withInfo({ loading: "1" }))).toMatch(/^not-loading/);
    expect(whyPartLacksData(withInfo({ master_link_status: "down" }))).toMatch(/^links-up/);
    const suspected = without(lostReplica, (nodes) => patch(other, { flags: "fail?" })(failed(nodes)));
    expect(whyPartLacksData(suspected)).toMatch(/reports .* as failing/);
    expect(whyPartLacksData({ ...part, nodes: [] })).toMatch(/no node of the deployment serves/);
  });
});
