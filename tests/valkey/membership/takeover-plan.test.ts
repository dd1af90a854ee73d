/** Which replicas take over when a shard has lost its primary and cannot elect a replica. */
import { describe, expect, it } from "vitest";
import { type CandidateState, planTakeovers } from "../../../valkey/membership/takeover-plan";
import { type FakeNode, fakeView } from "../../support/valkey/cluster-text";

const hostname = (name: string): string => `${name}.orders-nodes.test.svc`;
const SLOTS = ["0-5460", "5461-10922", "10923-16383"];
const NAMES = ["n-0", "n-1", "n-2"];

/** Three shards: n-0 to n-2 are primaries, n-3 to n-5 their replicas. @param failed nodes that all others see as failed */
function nodes(failed: readonly string[], change: (node: FakeNode) => FakeNode = (node) => node): FakeNode[] {
  const primaries = NAMES.map((name, index): FakeNode => ({ name, slots: SLOTS[index] ?? "" }));
  const replicas = NAMES.map((primary, index): FakeNode => ({ name: `n-${index + 3}`, primary }));
  return [...primaries, ...replicas].map((node) => ({
    hostname: hostname(node.name),
    ...(failed.includes(node.name) ? { flags: "fail" } : {}),
    ...change(node),
  }));
}

/** States of the nodes that reply. */
function states(
  replying: readonly string[],
  all: readonly FakeNode[],
  change: Readonly<Record<string, Partial<CandidateState>>> = {},
): CandidateState[] {
  return replying.map((name) => ({
    ...{ name, zone: "a", view: fakeView(name, all), keys: 10, offset: 1000 },
    ...{ replicationId: "r", isIncomplete: false },
    ...change[name],
  }));
}

const LOST = ["n-0", "n-1"];
const LEFT = ["n-2", "n-3", "n-4", "n-5"];
const OFF = new Set(LOST);

describe("takeovers of shards without a primary", () => {
  it("are none while every primary replies", () => {
    expect(planTakeovers(states([...NAMES, ...LEFT], nodes([])), new Set())).toEqual({
      ...{ lost: [], takeovers: [], refusals: [], withoutVotes: 0 },
    });
  });

  it("need no votes until the primaries are a majority again", () => {
    const { takeovers, refusals, withoutVotes } = planTakeovers(states(LEFT, nodes(LOST)), OFF);
    expect(takeovers.map(({ replica, primary }) => [replica, primary])).toEqual([
      ["n-3", "n-0"],
      ["n-4", "n-1"],
    ]);
    // With the first takeover, two of three primaries reply.
    expect({ refusals, withoutVotes }).toEqual({ refusals: [], withoutVotes: 1 });
  });

  it("are by votes if the majority of the primaries replies", () => {
    const { takeovers, withoutVotes } = planTakeovers(states(["n-1", ...LEFT], nodes(["n-0"])), new Set(["n-0"]));
    expect(takeovers.map(({ replica }) => replica)).toEqual(["n-3"]);
    expect(withoutVotes).toBe(0);
  });

  it.each([
    ["another node still reaches it", LEFT, nodes(["n-1"]), {}, OFF, "n-2 still reaches n-0"],
    ["its replica is loading", LEFT, nodes(LOST), { "n-3": { isIncomplete: true } }, OFF, "n-3 is still loading"],
    ["its replica came back empty", LEFT, nodes(LOST), { "n-3": { keys: 0, offset: 1 } }, OFF, "no replica of n-0 has"],
    ["its replica is silent, and may run", ["n-2", "n-4"], nodes(LOST), {}, OFF, "the replica n-3 does not reply"],
    ["its replica is off too", ["n-2", "n-4"], nodes(LOST), {}, new Set([...LOST, "n-3"]), "no replica of n-0 has"],
    [
      "nobody knows its host name",
      ["n-1", ...LEFT],
      nodes(["n-0"], (node) => (node.name === "n-0" ? { ...node, hostname: undefined as unknown as string } : node)),
      {},
      OFF,
      "no node knows the host name",
    ],
  ])("are refused for a shard if %s", (_what, replying, all, change, stopped, reason) => {
    const { takeovers, refusals } = planTakeovers(states(replying, all, change), stopped);
    expect(takeovers.map(({ primary }) => primary)).not.toContain("n-0");
    expect(refusals.join("\n")).toContain(reason);
    expect(refusals.join("\n")).toContain("slots 0-5460");
  });

  it("are none while primaries that may still run could be a majority with others", () => {
    const { takeovers, refusals } = planTakeovers(states(LEFT, nodes(LOST)), new Set(["n-1"]));
    expect(takeovers).toEqual([]);
    expect(refusals).toEqual([
      "n-0 may still run; together with other primaries they could be a majority and elect replicas",
    ]);
  });

  it("leave out a primary that may still run, if the primaries that reply are a majority", () => {
    const { takeovers, refusals } = planTakeovers(states(["n-1", ...LEFT], nodes(["n-0"])), new Set());
    expect(takeovers).toEqual([]);
    expect(refusals).toEqual(["slots 0-5460: the server of n-0 may still run"]);
  });

  it("are not held up by an empty node that knows only itself", () => {
    const alone = fakeView("n-9", [{ name: "n-9", hostname: hostname("n-9") }]);
    const seen = [
      ...states(LEFT, nodes(LOST)),
      ...states(["n-9"], [{ name: "n-9" }], { "n-9": { view: alone, keys: 0 } }),
    ];
    expect(planTakeovers(seen, OFF).takeovers.map(({ replica }) => replica)).toEqual(["n-3", "n-4"]);
  });

  it("are refused if the replicas have different replication IDs, because their offsets cannot be compared", () => {
    const all = [...nodes(LOST), { name: "n-6", primary: "n-0", hostname: hostname("n-6") }];
    const { refusals } = planTakeovers(states([...LEFT, "n-6"], all, { "n-6": { replicationId: "other" } }), OFF);
    expect(refusals).toEqual(["slots 0-5460: it is not known which replica of n-0 has the newest data"]);
  });

  it("choose the replica with the greatest offset", () => {
    const all = [...nodes(LOST), { name: "n-6", primary: "n-0", hostname: hostname("n-6") }];
    const plan = planTakeovers(states([...LEFT, "n-6"], all, { "n-6": { offset: 1001 } }), OFF);
    expect(plan.takeovers.map(({ replica }) => replica)).toEqual(["n-6", "n-4"]);
  });

  it("leave out slots that a replica has already taken over, although another node has not heard of it", () => {
    const old = nodes(LOST);
    const taken = nodes(LOST, (node) => {
      if (node.name === "n-0") return { ...node, slots: "" };
      const { primary: _primary, ...rest } = node;
      return node.name === "n-3" ? { ...rest, slots: "0-5460", epoch: 9 } : node;
    });
    const seen = [...states(["n-3"], taken), ...states(["n-2", "n-4", "n-5"], old)];
    const { takeovers, withoutVotes } = planTakeovers(seen, OFF);
    expect(takeovers.map(({ primary }) => primary)).toEqual(["n-1"]);
    expect(withoutVotes).toBe(0);
  });
});
