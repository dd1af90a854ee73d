/** Nodes of a cluster that the list of nodes lacks, and nodes that have left the cluster. */
import { expect, it } from "vitest";
import { lackingNodes, readLayout, readSlots } from "../../../backup/archive/shard-layout";
import type { Deployment } from "../../../valkey/deployment";
import { ViewParser } from "../../../valkey/topology/cluster-view";
import { type FakeNode, clusterText } from "../../support/valkey/cluster-text";

const NODES: readonly FakeNode[] = [
  { name: "valkey-1", slots: "0-8191", port: 7001 },
  { name: "valkey-2", slots: "8192-12000", port: 7002 },
  { name: "valkey-3", slots: "12001-16383", port: 7003 },
  { name: "valkey-4", primary: "valkey-2", port: 7004 },
];
/** A node that has left the cluster, and knows itself only. */
const ALONE = clusterText("valkey-9", [{ name: "valkey-9", port: 7009 }]);

/** A deployment whose nodes answer with these texts. Undefined for a node that does not answer. */
function deploymentOf(...texts: readonly (string | undefined)[]): Deployment {
  const nodes = texts.map((_, index) => ({ name: String(index), endpoint: { host: "127.0.0.1", port: 7000 + index } }));
  const connect = ({ name }: { readonly name: string }): Promise<unknown> => {
    const text = texts[Number(name)];
    if (text === undefined) return Promise.reject(new Error("no answer"));
    return Promise.resolve({
      cluster: () => Promise.resolve(text),
      info: () => Promise.resolve("role:master\r\n"),
      disconnect: () => undefined,
    });
  };
  return { name: "shop", mode: "cluster", nodes, connect } as unknown as Deployment;
}
const texts = (...names: readonly string[]): string[] => names.map((name) => clusterText(name, NODES));

it("finds nodes with slots that no node of the list is or follows", () => {
  const lacking = (...names: readonly string[]): string[] =>
    lackingNodes(texts(...names).map((text) => new ViewParser().parse(text)));
  expect(lacking("valkey-1", "valkey-2", "valkey-3")).toEqual([]);
  expect(lacking("valkey-1", "valkey-4", "valkey-3")).toEqual([]);
  expect(lacking("valkey-1", "valkey-2")).toEqual(["10.0.0.1:7003"]);
});

it("ends at once when the list lacks a node with slots, and waits for a node that does not answer", async () => {
  await expect(readLayout(deploymentOf(...texts("valkey-1", "valkey-2")))).rejects.toThrow(
    "nodes with slots are not in the list of nodes: 10.0.0.1:7003; start the command again",
  );
  const layout = await readLayout(deploymentOf(...texts("valkey-1", "valkey-2"), undefined));
  expect(layout.unsettled).toContain("have 12001 slots");
});

it("does not take the view of a node without slots for a move", async () => {
  const wanted = ["0-8191", "12001-16383", "8192-12000"];
  expect(await readSlots(deploymentOf(ALONE, ...texts("valkey-4")))).toEqual({ slots: wanted, moves: false });
  await expect(readSlots(deploymentOf(ALONE))).rejects.toThrow("no node of shop answers");
});
