/** States that a stopped or killed resize leaves, made by hand, and how the next resize continues from them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { eventually, realPrograms, withNode } from "../../support/valkey/real";
import { optionsInterruptedAt, ResizableCluster, shape } from "../../support/valkey/resizable-cluster";

const ALL = [0, 1, 2, 3, 4, 5];

let resizing: ResizableCluster;
/** The six nodes of the cluster and two new ones, which no other knows yet. */
let all: Deployment;
beforeAll(async () => {
  resizing = await ResizableCluster.start(await realPrograms());
});
afterAll(() => resizing.close());
beforeEach(async () => {
  await resizing.resizeTo(shape(3, 1));
  await expect(resizing.resizeTo(shape(4, 1), optionsInterruptedAt(/./))).rejects.toThrow("interrupted");
  all = { ...resizing.deployment, nodes: resizing.sandbox.host.nodes("cluster") };
});

const at = <T>(index: number, use: (connection: Connection) => Promise<T>): Promise<T> => withNode(all, index, use);
const everywhere = <T>(use: (connection: Connection, index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(all.nodes.map((_node, index) => at(index, (connection) => use(connection, index))));
const idsOf = (): Promise<string[]> =>
  everywhere(async (connection) => String(await connection.call("CLUSTER", "MYID")));
const meet =
  (whom: number) =>
  async (connection: Connection): Promise<void> => {
    const node = all.nodes[whom];
    await connection.call("CLUSTER", "MEET", node?.endpoint.host ?? "", node?.endpoint.port ?? 0, node?.busPort ?? 0);
  };

/** Makes all eight nodes meet. @returns their node IDs */
async function met(): Promise<string[]> {
  for (const index of ALL) for (const whom of [6, 7]) await at(index, meet(whom));
  await at(6, meet(7));
  // New nodes serve 2 s later.
  await eventually("all serve", async () =>
    (await everywhere((connection) => connection.cluster("INFO"))).every((text) => text.includes("cluster_state:ok")),
  );
  await eventually("all know all", async () =>
    (await everywhere(async (connection) => String(await connection.cluster("NODES")))).every(
      (text) => text.trim().split("\n").length === 8 && !text.includes("handshake"),
    ),
  );
  // Two new primaries have the same epoch until one of them takes another.
  await eventually("no two primaries have the same epoch", async () =>
    (await everywhere(async (connection) => String(await connection.cluster("NODES")))).every((text) => {
      const epochs = [...text.matchAll(/ (?:myself,)?master - \d+ \d+ (\d+) /g)].map(([, epoch]) => epoch);
      return new Set(epochs).size === epochs.length;
    }),
  );
  return idsOf();
}

async function follow(index: number, id: string | undefined): Promise<void> {
  await at(index, (connection) => connection.cluster("REPLICATE", id ?? ""));
  await eventually("it follows", () =>
    at(index, async (connection) => (await connection.info("replication")).includes("master_link_status:up")),
  );
}

describe("an interrupted resize", () => {
  it.each([
    ["some others have forgotten", [0, 1, 4], undefined, shape(4, 1)],
    ["all others have forgotten, and that remember all others", ALL, undefined, shape(4, 1)],
    ["were reset, the first and not the second", ALL, 6, shape(3, 1)],
    ["were reset, the second and not the first", ALL, 7, shape(4, 1)],
  ] as const)(
    "removed nodes that %s: the next one removes them, or adds them with new node IDs",
    async (_what, forgetful, reset, wanted) => {
      const ids = await met();
      await follow(7, ids[6]);
      for (const index of forgetful)
        for (const id of ids.slice(6)) await at(index, (connection) => connection.cluster("FORGET", id));
      if (reset !== undefined) await at(reset, (connection) => connection.cluster("RESET", "HARD"));
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
      // Under their old node IDs, the others would ignore them for a minute.
      if (wanted.primaries === 4) expect((await idsOf()).filter((id) => ids.includes(id))).toEqual(ids.slice(0, 6));
    },
  );

  it("made new nodes meet one of the others: the rest learn of them by gossip", async () => {
    const ids = await idsOf();
    for (const index of [6, 7]) await at(index, meet(0));
    await resizing.resizeTo(shape(4, 1));
    expect(await resizing.violations()).toEqual([]);
    expect(await idsOf()).toEqual(ids);
  });

  it.each([shape(4, 1), shape(3, 1)])(
    "had migrated some keys to a node that has no slot yet: the rest follow",
    async (wanted) => {
      const ids = await met();
      const slot = 42;
      const keys = ["one", "two"].map((rest) => `{${slotTags()[slot] ?? ""}}${rest}`);
      const source = resizing.index((await resizing.primaries())[0] ?? "");
      for (const key of keys) await at(source, (connection) => connection.set(key, key));
      await at(6, (connection) => connection.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source] ?? ""));
      await at(source, async (connection) => {
        await connection.call("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[6] ?? "");
        await connection.call(
          "MIGRATE",
          all.nodes[6]?.endpoint.host ?? "",
          all.nodes[6]?.endpoint.port ?? 0,
          keys[0] ?? "",
          0,
          5000,
          "AUTH",
          all.access.password ?? "",
        );
      });
      expect(await at(6, (connection) => connection.dbsize())).toBe(1);
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
      const found = await Promise.all(
        resizing.deployment.nodes.map((_node, index) =>
          withNode(resizing.deployment, index, async (connection) =>
            (await connection.info("replication")).includes("role:master")
              ? Promise.all(keys.map((key) => connection.exists(key).catch(() => 0)))
              : [],
          ),
        ),
      );
      expect(keys.map((_key, index) => found.reduce((sum, counts) => sum + (counts[index] ?? 0), 0))).toEqual([1, 1]);
    },
  );

  it("left keys with a node without slots, and no open migration: the next one names the node and changes nothing", async () => {
    const ids = await met();
    const [slot, source] = [42, resizing.index((await resizing.primaries())[0] ?? "")];
    await at(6, async (connection) => {
      await connection.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source] ?? "");
      await connection.call("ASKING");
      await connection.set(`{${slotTags()[slot] ?? ""}}`, "stray");
      await connection.call("CLUSTER", "SETSLOT", slot, "STABLE");
    });
    const before = await resizing.views(all);
    await expect(resizing.resizeTo(shape(4, 1), { timeoutMs: 3000 })).rejects.toThrow(
      /is not ready to be resized.*cluster-6 serves no slots and holds 1 keys/s,
    );
    expect(await resizing.views(all)).toEqual(before);
    // A node with keys is not reset.
    await at(6, (connection) => connection.call("FLUSHALL"));
    await resizing.resizeTo(shape(4, 1));
    expect(await resizing.violations()).toEqual([]);
  });
});
