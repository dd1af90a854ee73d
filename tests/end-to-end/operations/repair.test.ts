/** Repairs of real servers, without an update: what they put right, and what they leave alone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { awaitCondition } from "../../../lib/polling";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { repairDeployment } from "../../../operations/changes/repair";
import { verify } from "../../../valkey/verification/verify";
import { compiledProgram } from "../../runner/compile-programs";
import { useResizableCluster } from "../../support/valkey/hooks";
import { failing, never, referenceTo, withNode, callNode } from "../../support/valkey/real";
import type { RepairOrder } from "../../support/valkey/repair-child";
import { shape } from "../../support/valkey/resizable-cluster";

async function killedAfter(milliseconds: number, order: RepairOrder): Promise<void> {
  const child = spawn(process.execPath, [compiledProgram("tests/support/valkey/repair-child.ts")]);
  const closed = once(child, "close");
  child.stdin.end(JSON.stringify(order));
  await once(child.stdout, "data");
  await sleep(milliseconds);
  // It may have ended already.
  child.kill("SIGKILL");
  await closed;
}

describe("a repair", () => {
  // Until the others have found that a node's former ID has failed, a repair may be refused.
  const cluster = useResizableCluster({ "cluster-node-timeout": 3000 });
  let target: DeploymentReference;
  beforeAll(async () => {
    await cluster.resizeTo(shape(3, 2));
    target = referenceTo(cluster.deployment, shape(3, 2));
  });

  const repair = (handOver = false): Promise<boolean> =>
    repairDeployment(
      target,
      cluster.deployment.access.password ?? "",
      { handOver },
      { timeoutMs: 60_000, signal: never, report: () => undefined },
    );
  const repaired = (): Promise<void> =>
    awaitCondition(
      "the repair succeeds",
      () =>
        repair().then(
          () => true,
          () => false,
        ),
      { timeoutMs: 60_000, intervalMs: 200 },
    );
  const indexOf = (name: string | undefined): number => cluster.index(name ?? "");

  it("brings back a node that has forgotten the cluster, and then finds nothing to do", async () => {
    const { verdict } = await verify(cluster.deployment);
    await withNode(cluster.deployment, indexOf(verdict.shards[0]?.replicas[0]), async (connection) => {
      await connection.call("CLUSTER", "RESET", "HARD");
    });
    expect((await verify(cluster.deployment)).verdict.pass).toBe(false);
    await repaired();
    expect(await failing(cluster.deployment)).toEqual([]);
    const { shards } = (await verify(cluster.deployment)).verdict;
    expect(shards.map(({ primary }) => primary)).toEqual(verdict.shards.map(({ primary }) => primary));
    expect(await repair()).toBe(false);
  });

  it("is completed by the next one wherever it is killed, and loses no key", async () => {
    const { deployment } = cluster;
    const keys = async (): Promise<number> => {
      const { facts } = await verify(deployment);
      return facts.nodes.reduce((sum, { keys: each }) => sum + (each.known ? each.value : NaN), 0);
    };
    const before = (await verify(deployment)).verdict;
    await withNode(deployment, indexOf(before.shards[1]?.primary), async (connection) => {
      const slots = before.shards[1]?.slots[0];
      for (let key = 0, set = 0; set < 200; key++) {
        const slot = Number(await connection.call("CLUSTER", "KEYSLOT", `key:${key}`));
        if (slots === undefined || slot < slots.from || slot > slots.to) continue;
        await connection.set(`key:${key}`, "value");
        set++;
      }
      await connection.call("WAIT", "2", "1000");
    });
    const expected = await keys();
    expect(expected).toBe(600);
    for (const milliseconds of [0, 100, 300, 800]) {
      const { shards } = (await verify(deployment)).verdict;
      const moved = indexOf(shards[1]?.replicas[0]);
      const id = await callNode(deployment, indexOf(shards[0]?.primary), "CLUSTER", "MYID");
      await withNode(deployment, moved, async (connection) => {
        if (milliseconds > 100) await connection.call("CLUSTER", "RESET", "HARD");
        else await connection.call("CLUSTER", "REPLICATE", String(id));
      });
      await killedAfter(milliseconds, { target, password: deployment.access.password ?? "" });
      await repaired();
      expect(await failing(deployment)).toEqual([]);
      expect(await keys()).toBe(expected);
    }
  });

  it("leaves a slot migration alone that somebody may be working on", async () => {
    const { shards } = (await verify(cluster.deployment)).verdict;
    const id = await callNode(cluster.deployment, indexOf(shards[1]?.primary), "CLUSTER", "MYID");
    const slot = String(shards[0]?.slots[0]?.from);
    const mark = (...words: string[]): Promise<unknown> =>
      callNode(cluster.deployment, indexOf(shards[0]?.primary), "CLUSTER", "SETSLOT", slot, ...words);
    await mark("MIGRATING", String(id));
    await expect(repair()).rejects.toThrow(/a slot migration has not ended/);
    await mark("STABLE");
    expect(await repair()).toBe(false);
  });

  it("forms no cluster while slots are not served", async () => {
    const { shards } = (await verify(cluster.deployment)).verdict;
    const slot = String(shards[0]?.slots[0]?.from);
    const tellAll = (...words: [string, ...string[]]): Promise<unknown> =>
      Promise.all(
        cluster.deployment.nodes.map((_node, index) =>
          withNode(cluster.deployment, index, (connection) =>
            connection.call("CLUSTER", ...words).catch(() => undefined),
          ),
        ),
      );
    await tellAll("DELSLOTS", slot);
    await expect(repair()).rejects.toThrow(/does not serve all slots, so it is not repaired/);
  });
});
