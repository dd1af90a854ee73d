/** Nodes and keys that a stopped or killed resize leaves half moved, made by hand, and what the next resize does. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { useResizableCluster } from "../../support/valkey/hooks";
import { callNode, clusterViews, eventually, replicationOf, withNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

const OLD = [0, 1, 2, 3, 4, 5];
const SLOT = 42;
// Longer than what a busy machine needs between two steps: a node that others have forgotten suspects them after it.
const resizing = useResizableCluster({ "cluster-node-timeout": 10_000 });
/** The six nodes of the cluster, and two new servers that no other node knows yet. */
let all: Deployment;
beforeEach(async () => {
  await resizing.resizeTo(shape(3, 1));
  await resizing.resizeInterrupted(shape(4, 1), /./);
  all = { ...resizing.deployment, nodes: resizing.sandbox.host.nodes("cluster") };
});

const at = (index: number, ...command: [string, ...(string | number)[]]): Promise<unknown> =>
  callNode(all, index, ...command);
const everywhere = async (...command: [string, ...string[]]): Promise<string[]> =>
  (await Promise.all(all.nodes.map((_node, index) => at(index, ...command)))).map(String);
const ids = (): Promise<string[]> => everywhere("CLUSTER", "MYID");

async function meet(who: number, whom: number): Promise<void> {
  const { endpoint, busPort = 0 } = all.nodes[whom] ?? { endpoint: { host: "", port: 0 } };
  await at(who, "CLUSTER", "MEET", endpoint.host, endpoint.port, busPort);
}

async function meetAll(): Promise<string[]> {
  for (const who of OLD) for (const whom of [6, 7]) await meet(who, whom);
  await meet(6, 7);
  const everyView = (holds: (text: string) => boolean) => async (): Promise<boolean> =>
    (await everywhere("CLUSTER", "NODES")).every(holds);
  // New nodes serve 2 s later.
  await eventually("all serve", async () =>
    (await everywhere("CLUSTER", "INFO")).every((text) => text.includes("cluster_state:ok")),
  );
  await eventually(
    "all know all",
    everyView((text) => text.trim().split("\n").length === 8 && !text.includes("handshake")),
  );
  // Two new primaries have the same epoch until one of them takes another.
  await eventually(
    "no two primaries have the same epoch",
    everyView((text) => {
      const epochs = [...text.matchAll(/ (?:myself,)?master - \d+ \d+ (\d+) /g)].map(([, epoch]) => epoch);
      return new Set(epochs).size === epochs.length;
    }),
  );
  return ids();
}

async function follow(index: number, id: string | undefined): Promise<void> {
  await at(index, "CLUSTER", "REPLICATE", id ?? "");
  await eventually("it follows", async () => (await replicationOf(all, index)).get("master_link_status") === "up");
}

describe("an interrupted resize that left nodes", () => {
  it.each([
    ["that some others have forgotten", [0, 1, 4], undefined, shape(4, 1)],
    ["that all others have forgotten, and that remember all others", OLD, undefined, shape(4, 1)],
    ["of which the first was reset, and not the second", OLD, 6, shape(3, 1)],
    ["of which the second was reset, and not the first", OLD, 7, shape(4, 1)],
  ] as const)(
    "%s: the next one removes them, or adds them with new node IDs",
    async (_what, forgetful, reset, wanted) => {
      const known = await meetAll();
      await follow(7, known[6]);
      for (const index of forgetful) for (const id of known.slice(6)) await at(index, "CLUSTER", "FORGET", id);
      if (reset !== undefined) await at(reset, "CLUSTER", "RESET", "HARD");
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
      // Under their old node IDs, the others would ignore them for a minute.
      if (wanted.primaries === 4) expect((await ids()).filter((id) => known.includes(id))).toEqual(known.slice(0, 6));
    },
  );

  it("that have met one of the others: the rest learn of them by gossip", async () => {
    const known = await ids();
    for (const index of [6, 7]) await meet(index, 0);
    await resizing.resizeTo(shape(4, 1));
    expect(await resizing.violations()).toEqual([]);
    expect(await ids()).toEqual(known);
  });
});

describe("an interrupted resize that left keys", () => {
  const tag = `{${slotTags()[SLOT] ?? ""}}`;
  const sourceOf = async (): Promise<number> => resizing.index((await resizing.primaries())[0] ?? "");

  it.each([shape(4, 1), shape(3, 1)])("with a node that has no slot yet: the rest follow", async (wanted) => {
    await meetAll();
    const keys = ["one", "two"].map((rest) => `${tag}${rest}`);
    const source = await sourceOf();
    for (const key of keys) await at(source, "SET", key, key);
    await resizing.mark(6, SLOT, "IMPORTING", source, all);
    await resizing.mark(source, SLOT, "MIGRATING", 6, all);
    await resizing.moveKey(keys[0] ?? "", source, 6, all);
    expect(await at(6, "DBSIZE")).toBe(1);
    await resizing.resizeTo(wanted);
    expect(await resizing.violations()).toEqual([]);
    const { deployment } = resizing;
    const owners = (await resizing.primaries()).map((name) => resizing.index(name));
    const found = await Promise.all(
      keys.map(async (key) => {
        const counts = owners.map((index) => callNode(deployment, index, "EXISTS", key).catch(() => 0));
        return (await Promise.all(counts)).reduce<number>((sum, count) => sum + Number(count), 0);
      }),
    );
    expect(found).toEqual([1, 1]);
  });

  it("with a node without slots, and no open migration: the next one names the node and changes nothing", async () => {
    await meetAll();
    const source = await sourceOf();
    await resizing.mark(6, SLOT, "IMPORTING", source, all);
    await withNode(all, 6, async (connection) => {
      await connection.call("ASKING");
      await connection.set(tag, "stray");
    });
    await at(6, "CLUSTER", "SETSLOT", SLOT, "STABLE");
    const before = await clusterViews(all);
    await expect(resizing.resizeTo(shape(4, 1), { timeoutMs: 3000 })).rejects.toThrow(
      /is not ready to be resized.*cluster-6 still holds 1 keys of slots/s,
    );
    expect(await clusterViews(all)).toEqual(before);
    // A node with keys is not reset.
    await at(6, "FLUSHALL");
    await resizing.resizeTo(shape(4, 1));
    expect(await resizing.violations()).toEqual([]);
  });
});
