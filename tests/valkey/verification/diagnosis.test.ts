/** The beginning of a verdict about facts that real servers give seldom. Real servers: tests/end-to-end/valkey/verdict-cause. */
import { describe, expect, it } from "vitest";
import { observed, unobserved } from "../../../valkey/observation";
import { type Diagnosis, diagnose } from "../../../valkey/verification/diagnosis";
import type { DeploymentFacts, NodeFacts } from "../../../valkey/verification/facts";
import { judgeFacts } from "../../../valkey/verification/verify";
import { clusterFacts } from "../../support/valkey/facts";

const good = clusterFacts(3, 1);
const { shards } = judgeFacts(good);
const why = unobserved("Connection refused");
const SILENT = { info: why, clusterInfo: why, view: why, settings: why, keys: why, write: undefined };

const changed = (name: string | undefined, changes: Partial<NodeFacts>, facts = good): DeploymentFacts => ({
  ...facts,
  nodes: facts.nodes.map((each) => (each.node.name === name ? { ...each, ...changes } : each)),
});
const diagnosisOf = (facts: DeploymentFacts): Diagnosis => diagnose(facts, judgeFacts(facts).assertions);
const own = (facts: DeploymentFacts): string[] => {
  const { follows } = diagnosisOf(facts);
  return judgeFacts(facts).assertions.flatMap(({ id, pass }) => (pass || follows.has(id) ? [] : [id]));
};
const [first, second] = shards;
const lostPrimary = changed(first?.primary, SILENT);

describe("a verdict with a silent node", () => {
  it("has one assertion that does not follow from the silence", () => {
    expect(own(lostPrimary)).toEqual(["reachable"]);
    expect(own(changed(first?.replicas[0], SILENT))).toEqual(["reachable"]);
  });

  it.each<[string, Partial<NodeFacts>]>([
    ["same-settings", { settings: observed(new Map([["maxmemory", "1"]])) }],
    ["writable", { write: unobserved("OOM command not allowed") }],
    ["zones-known replica-elsewhere zones-apart", { node: { ...nodeOf(second?.replicas[0]), zone: undefined } }],
  ])("does not fold a fault of a node that replies: %s", (ids, changes) => {
    const name = changes.node === undefined ? second?.primary : second?.replicas[0];
    expect(
      own(changed(name, changes, lostPrimary))
        .filter((id) => id !== "reachable")
        .sort(),
    ).toEqual(ids.split(" ").sort());
  });

  it("says that nobody takes over if no replica replies", () => {
    const { clients } = diagnosisOf(changed(first?.replicas[0], SILENT, lostPrimary));
    expect(clients).toContain(
      `No replica of ${first?.primary} replies, so nobody takes over its slots until it is back.`,
    );
  });

  it("names pods where servers run in pods, and addresses elsewhere", () => {
    const inPods = { ...lostPrimary, ways: observed([]) };
    expect(diagnosisOf(inPods).next[0]).toContain(`\`kubectl describe pod ${first?.primary}\``);
    expect(diagnosisOf(lostPrimary).next[0]).toContain("valkey-cli -h 10.0.0.1 -p 7000 PING");
  });
});

function nodeOf(name: string | undefined): NodeFacts["node"] {
  const found = good.nodes.find(({ node }) => node.name === name);
  if (found === undefined) throw new Error(`there is no node ${name}`);
  return found.node;
}
