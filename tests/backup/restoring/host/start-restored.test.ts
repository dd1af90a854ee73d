/** Servers of a restore have the databases that their data need. */
import { expect, it } from "vitest";
import { restoredPlan } from "../../../../backup/restoring/start-restored";

it("starts servers with the given number of databases", () => {
  const shape = (mode: "cluster" | "replication") => ({ mode, shards: [[]] });
  expect(restoredPlan(shape("replication"), 0, 41).settings).toMatchObject({ databases: 41 });
  expect(restoredPlan(shape("cluster"), 0, 3).settings).toMatchObject({ "cluster-databases": 3 });
  expect(restoredPlan(shape("cluster"), 0, 1).settings).not.toHaveProperty("cluster-databases");
});
