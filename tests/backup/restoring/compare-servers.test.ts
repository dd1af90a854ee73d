/** The servers that are compared with the archived data. */
import { expect, it } from "vitest";
import { roundsOf } from "../../../backup/restoring/compare-servers";
import type { DeploymentNode } from "../../../valkey/node";

const node = (name: string): DeploymentNode => ({ name, endpoint: { host: "127.0.0.1", port: 1 } }) as DeploymentNode;
const member = (name: string, isPrimary: boolean) => ({ node: node(name), isPrimary, isLinked: true });
const nodes = ["a-0", "a-1", "b-0", "b-1", "b-2"].map(node);
const shards = [
  { slots: "0-99", members: [member("a-1", false), member("a-0", true)] },
  { slots: "100-16383", members: [member("b-0", true), member("b-1", false), member("b-2", false)] },
];

it("are first the primaries, then the replicas, and never none", () => {
  const rounds = roundsOf({ nodes }, { shards, unsettled: undefined });
  const named = rounds.map((round) => round.map((each) => `${each.shard} ${each.node.name}`));
  expect(named).toEqual([["shard-0 a-0", "shard-1 b-0"], ["shard-0 a-1", "shard-1 b-1"], ["shard-1 b-2"]]);
  expect(rounds[0]?.[1]?.ranges).toEqual([{ from: 100, to: 16383 }]);
});

it("fail if a server or a primary is missing, or while slots move", () => {
  const layout = { shards, unsettled: undefined };
  expect(() => roundsOf({ nodes: [...nodes, node("c-0")] }, layout)).toThrow(/no shard or do not answer: c-0$/);
  expect(() => roundsOf({ nodes }, { ...layout, unsettled: "slots move" })).toThrow("not compared: slots move");
  const replicas = { slots: undefined, members: [member("a-1", false)] };
  expect(() => roundsOf({ nodes }, { ...layout, shards: [replicas] })).toThrow("primary of shard 0 does not answer");
});
