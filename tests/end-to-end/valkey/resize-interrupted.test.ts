/** Nodes that a stopped or killed resize leaves half removed or half added, made by hand, and what the next resize does. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HalfGrownCluster } from "../../support/valkey/half-grown-cluster";
import { eventually } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

const ALL = [0, 1, 2, 3, 4, 5];

let half: HalfGrownCluster;
beforeAll(async () => {
  half = await HalfGrownCluster.start();
});
afterAll(() => half.close());
beforeEach(() => half.renew());

async function follow(index: number, id: string | undefined): Promise<void> {
  await half.at(index, (connection) => connection.cluster("REPLICATE", id ?? ""));
  await eventually("it follows", () =>
    half.at(index, async (connection) => (await connection.info("replication")).includes("master_link_status:up")),
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
      const ids = await half.meetAll();
      await follow(7, ids[6]);
      for (const index of forgetful)
        for (const id of ids.slice(6)) await half.at(index, (connection) => connection.cluster("FORGET", id));
      if (reset !== undefined) await half.at(reset, (connection) => connection.cluster("RESET", "HARD"));
      await half.resizing.resizeTo(wanted);
      expect(await half.resizing.violations()).toEqual([]);
      // Under their old node IDs, the others would ignore them for a minute.
      if (wanted.primaries === 4) expect((await half.ids()).filter((id) => ids.includes(id))).toEqual(ids.slice(0, 6));
    },
  );

  it("made new nodes meet one of the others: the rest learn of them by gossip", async () => {
    const ids = await half.ids();
    for (const index of [6, 7]) await half.meet(index, 0);
    await half.resizing.resizeTo(shape(4, 1));
    expect(await half.resizing.violations()).toEqual([]);
    expect(await half.ids()).toEqual(ids);
  });
});
