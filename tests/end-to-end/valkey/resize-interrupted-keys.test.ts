/** Keys that a stopped or killed resize leaves half migrated, made by hand, and what the next resize does. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { HalfGrownCluster } from "../../support/valkey/half-grown-cluster";
import { withNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

let half: HalfGrownCluster;
beforeAll(async () => {
  half = await HalfGrownCluster.start();
});
afterAll(() => half.close());
beforeEach(() => half.renew());

describe("an interrupted resize", () => {
  it.each([shape(4, 1), shape(3, 1)])(
    "had migrated some keys to a node that has no slot yet: the rest follow",
    async (wanted) => {
      const ids = await half.meetAll();
      const slot = 42;
      const keys = ["one", "two"].map((rest) => `{${slotTags()[slot] ?? ""}}${rest}`);
      const source = half.resizing.index((await half.resizing.primaries())[0] ?? "");
      for (const key of keys) await half.at(source, (connection) => connection.set(key, key));
      await half.at(6, (connection) => connection.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source] ?? ""));
      await half.at(source, async (connection) => {
        await connection.call("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[6] ?? "");
        await connection.call(
          "MIGRATE",
          half.all.nodes[6]?.endpoint.host ?? "",
          half.all.nodes[6]?.endpoint.port ?? 0,
          keys[0] ?? "",
          0,
          5000,
          "AUTH",
          half.all.access.password ?? "",
        );
      });
      expect(await half.at(6, (connection) => connection.dbsize())).toBe(1);
      await half.resizing.resizeTo(wanted);
      expect(await half.resizing.violations()).toEqual([]);
      const found = await Promise.all(
        half.resizing.deployment.nodes.map((_node, index) =>
          withNode(half.resizing.deployment, index, async (connection) =>
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
    const ids = await half.meetAll();
    const [slot, source] = [42, half.resizing.index((await half.resizing.primaries())[0] ?? "")];
    await half.at(6, async (connection) => {
      await connection.call("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source] ?? "");
      await connection.call("ASKING");
      await connection.set(`{${slotTags()[slot] ?? ""}}`, "stray");
      await connection.call("CLUSTER", "SETSLOT", slot, "STABLE");
    });
    const before = await half.resizing.views(half.all);
    await expect(half.resizing.resizeTo(shape(4, 1), { timeoutMs: 3000 })).rejects.toThrow(
      /is not ready to be resized.*cluster-6 still holds 1 keys of slots/s,
    );
    expect(await half.resizing.views(half.all)).toEqual(before);
    // A node with keys is not reset.
    await half.at(6, (connection) => connection.call("FLUSHALL"));
    await half.resizing.resizeTo(shape(4, 1));
    expect(await half.resizing.violations()).toEqual([]);
  });
});
