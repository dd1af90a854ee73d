/** The open-loop generator on real servers that die, do not keep up or cannot be reached. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { GeneratorProcess } from "../../../benchmarks/load/open-loop/generator-process";
import type { Deployment } from "../../../valkey/deployment";
import { generate, planFor } from "../../support/benchmarks/open-loop";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode, callNode } from "../../support/valkey/real";

const sandbox = useSandbox();
let cluster: Deployment;
let replication: Deployment;
beforeAll(async () => {
  [cluster, replication] = await Promise.all([
    sandbox.formedCluster("dying", 3, 1, { "cluster-node-timeout": 1000 }),
    sandbox.formedReplication("replication", 0),
  ]);
});

describe("the open-loop generator", () => {
  it("continues after a primary is killed, and counts failed and unknown requests", async () => {
    const dies = async (): Promise<void> => {
      await sleep(500);
      await withNode(cluster, 0, (connection) => connection.call("SHUTDOWN", "NOSAVE", "NOW").catch(() => undefined));
    };
    const tally = await generate(
      sandbox,
      planFor(cluster, { reads: 0, seconds: 6, rate: 1_000, timeoutMs: 800 }),
      dies,
    );
    const { offered, acknowledged, failures, unknowns } = tally;
    expect(acknowledged + failures + unknowns).toBe(offered);
    // Requests in flight at that time; later ones wait for the new primary until they time out.
    expect(failures + unknowns).toBeGreaterThan(0);
    // The other two shards answer all the time.
    expect(acknowledged).toBeGreaterThan(0.6 * offered);
  });

  it("fails requests that exceed its queue, and counts them", async () => {
    const pause = async (): Promise<void> => {
      await sleep(100);
      await callNode(replication, 0, "CLIENT", "PAUSE", "600", "ALL");
    };
    const tally = await generate(sandbox, planFor(replication, { queue: 50, rate: 2_000 }), pause);
    expect(tally.failed["queue-full"]).toBeGreaterThan(500);
    expect(tally.sent).toBe(tally.acknowledged);
    expect(tally.sent + tally.failures).toBe(tally.offered);
  });

  it("names the server that it cannot reach or log in to", async () => {
    await expect(
      GeneratorProcess.start(sandbox.host.run, planFor(replication, { access: { password: "wrong" } })),
    ).rejects.toThrow(/WRONGPASS/);
    await expect(
      GeneratorProcess.start(sandbox.host.run, planFor(cluster, { endpoints: [{ host: "127.0.0.1", port: 1 }] })),
    ).rejects.toThrow(/no node of the cluster answers CLUSTER SLOTS:\n.*127\.0\.0\.1:1/);
  });
});
