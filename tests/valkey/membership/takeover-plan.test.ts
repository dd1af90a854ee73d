/** Which replicas take over when a shard has lost its primary and cannot elect a replica. */
import { describe, expect, it } from "vitest";
import { type CandidateState, planTakeovers } from "../../../valkey/membership/takeover-plan";
import { type FakeNode, fakeView } from "../../support/valkey/cluster-text";
import { expectReviewed } from "../../support/reviewed";

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
  it("need no votes until the primaries are a majority again, and are refused where data or votes could be lost", async () => {
    const more = [...nodes(LOST), { name: "n-6", primary: "n-0", hostname: hostname("n-6") }];
    const nameless = nodes(["n-0"], (node) =>
      node.name === "n-0" ? { ...node, hostname: undefined as unknown as string } : node,
    );
    const alone = fakeView("n-9", [{ name: "n-9", hostname: hostname("n-9") }]);
    const empty = states(["n-9"], [{ name: "n-9" }], { "n-9": { view: alone, keys: 0 } });
    const lost = (change: Readonly<Record<string, Partial<CandidateState>>> = {}): CandidateState[] =>
      states(LEFT, nodes(LOST), change);
    const plans: Readonly<Record<string, [states: readonly CandidateState[], off: ReadonlySet<string>]>> = {
      "every primary replies": [states([...NAMES, ...LEFT], nodes([])), new Set()],
      "two of three primaries are off": [lost(), OFF],
      "one of three primaries is off": [states(["n-1", ...LEFT], nodes(["n-0"])), new Set(["n-0"])],
      "another node still reaches a primary": [states(LEFT, nodes(["n-1"])), OFF],
      "a replica is loading": [lost({ "n-3": { isIncomplete: true } }), OFF],
      "a replica came back empty": [lost({ "n-3": { keys: 0, offset: 1 } }), OFF],
      "a replica is silent, and may run": [states(["n-2", "n-4"], nodes(LOST)), OFF],
      "a replica is off too": [states(["n-2", "n-4"], nodes(LOST)), new Set([...LOST, "n-3"])],
      "nobody knows the host name of a primary": [states(["n-1", ...LEFT], nameless), OFF],
      "primaries that may still run could be a majority with others": [lost(), new Set(["n-1"])],
      "a primary may still run, and the others are a majority": [states(["n-1", ...LEFT], nodes(["n-0"])), new Set()],
      "an empty node knows only itself": [[...lost(), ...empty], OFF],
      "replicas have different replication IDs": [
        states([...LEFT, "n-6"], more, { "n-6": { replicationId: "other" } }),
        OFF,
      ],
      "a replica has a greater offset": [states([...LEFT, "n-6"], more, { "n-6": { offset: 1001 } }), OFF],
    };
    const found = Object.entries(plans).map(([what, args]) => {
      const { takeovers, refusals, withoutVotes } = planTakeovers(...args);
      return [
        what,
        { takeovers: takeovers.map(({ replica, primary }) => `${replica} for ${primary}`), refusals, withoutVotes },
      ] as const;
    });
    await expectReviewed("valkey/takeovers", "Replicas that take over from primaries that are lost.", found);
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
