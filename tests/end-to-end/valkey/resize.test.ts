/** Resizes of real servers that fail over, hand back, give way to key by key, or are refused. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeploymentNode } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { inspectDeployment } from "../../../provider/updates/drift";
import { Clients } from "../../support/valkey/clients";
import { eventually, never, realPrograms, withNode } from "../../support/valkey/real";
import { ResizableCluster, shape } from "../../support/valkey/resizable-cluster";

describe("resizing", () => {
  let resizing: ResizableCluster;
  beforeAll(async () => {
    resizing = await ResizableCluster.start(await realPrograms());
  });
  afterAll(() => resizing.close());

  it("fails over from leaving primaries to their replicas, and migrates no slot for it", async () => {
    await resizing.resizeTo(shape(3, 2));
    const clients = new Clients(resizing.deployment);
    const { verdict } = await verify(resizing.deployment);
    const before = verdict.shards.map(({ slots }) => slots);
    const [first, second, third] = verdict.shards;
    const names = [first?.primary, second?.primary, third?.replicas[0]];
    const leaving = resizing.deployment.nodes.filter(({ name }) => names.includes(name));
    const staying = {
      ...resizing.deployment,
      shape: shape(3, 1),
      nodes: resizing.deployment.nodes.filter(({ name }) => !names.includes(name)),
    };
    await form(staying, shape(3, 1), { leaving });
    expect(await resizing.violations(staying)).toEqual([]);
    expect((await verify(staying)).verdict.shards.map(({ slots }) => slots)).toEqual(before);
    // Nodes that left know no other node and hold no keys, and may come back at once.
    for (const node of leaving) {
      const connection = await resizing.deployment.connect(node);
      expect([await connection.dbsize(), (await connection.cluster("INFO")).includes("cluster_known_nodes:1")]).toEqual(
        [0, true],
      );
      connection.disconnect();
    }
    await form(resizing.deployment, shape(3, 2));
    expect(await resizing.violations()).toEqual([]);
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
  });

  it("hands back where failovers have left most primaries in one zone, which a refresh shows as drift", async () => {
    const { deployment } = resizing;
    const zoneOf = new Map(deployment.nodes.map(({ name, zone }) => [name, zone]));
    const clients = new Clients(deployment);
    const crowded = deployment.nodes[0]?.zone;
    for (const { primary = "", replicas } of (await verify(deployment)).verdict.shards) {
      if (zoneOf.get(primary) === crowded) continue;
      const next = replicas.find((name) => zoneOf.get(name) === crowded) ?? "";
      await withNode(deployment, resizing.index(next), (connection) => connection.cluster("FAILOVER"));
      await eventually(`${next} is primary`, async () => (await resizing.primaries()).includes(next));
    }
    const { name, mode, zones = [], directives, nodes, access } = deployment;
    const wanted = shape(3, 2);
    const target = {
      platform: "endpoints" as const,
      ...{ name, mode, shape: wanted, zones, nodes },
      directives: Object.fromEntries(directives),
    };
    const drift = async (): Promise<readonly string[]> =>
      (await inspectDeployment(target, access.password ?? "", { signal: never })).drift;
    expect(await drift()).toEqual([
      expect.stringMatching(/^3 of 3 primaries are in zone a, so cluster-\d must take over from cluster-\d$/),
      expect.stringMatching(/^3 of 3 primaries are in zone a, so /),
    ]);
    await form(deployment, wanted);
    expect(await drift()).toEqual([]);
    expect(new Set((await resizing.primaries()).map((primary) => zoneOf.get(primary))).size).toBe(3);
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
  });

  it("migrates key by key where atomic migrations fail again and again, and says so", async () => {
    const { deployment } = resizing;
    const clients = new Clients(deployment);
    const stop = new AbortController();
    const ignoreNone = (error: Error): void => {
      if (!error.message.includes("No migrations ongoing")) throw error;
    };
    const failing = Promise.all(
      deployment.nodes.map((_node, index) =>
        withNode(deployment, index, async (connection) => {
          // The pause leaves the processors to the servers. A migration takes longer.
          while (!stop.signal.aborted) {
            await connection.call("CLUSTER", "CANCELSLOTMIGRATIONS").catch(ignoreNone);
            await sleep(2);
          }
        }),
      ),
    );
    const lines: string[] = [];
    try {
      await resizing.resizeTo(shape(4, 2), { report: (line) => lines.push(line) });
    } finally {
      stop.abort();
      await failing;
    }
    expect(await resizing.violations()).toEqual([]);
    // Any of the sources: each goes the same way.
    const said = lines.flatMap((line) => /continues with \d+ slots|migrated key by key/.exec(line)?.[0] ?? []);
    const steps = ["341 slots", "85 slots", "21 slots", "16 slots", "key by key"];
    expect(steps.map((step) => said.filter((each) => each.endsWith(` ${step}`)).length)).toEqual([3, 3, 3, 3, 3]);
    await resizing.resizeTo(shape(3, 2));
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
  });

  it("refuses, with the reason and without a change, what would lose keys or break another cluster", async () => {
    const all = resizing.deployment;
    const without = (count: number): { deployment: Deployment; leaving: readonly DeploymentNode[] } => ({
      deployment: { ...all, nodes: all.nodes.slice(0, -count) },
      leaving: all.nodes.slice(-count),
    });
    const before = await resizing.views();
    const { deployment, leaving } = without(3);
    await expect(form(deployment, shape(2, 2), { leaving })).rejects.toThrow(/2 primaries: a cluster needs at least 3/);
    await expect(form(deployment, shape(4, 1), { leaving })).rejects.toThrow(
      /6 nodes: 4 primaries with 1 replicas each need 8 nodes/,
    );
    await expect(form(deployment, shape(3, 1))).rejects.toThrow(
      /cluster cannot be resized: cluster-0 knows a node that is not part of this deployment/,
    );
    const crowded = {
      ...deployment,
      nodes: deployment.nodes.map((node, index) => ({ ...node, zone: index < 5 ? "a" : "b" })),
    };
    await expect(form(crowded, shape(3, 1), { leaving })).rejects.toThrow(/would not survive the loss of a zone/);
    expect(await resizing.views()).toEqual(before);
  });

  it("refuses to add a node with keys of its own", async () => {
    const stranger = await resizing.sandbox.cluster("stranger", 3, 0);
    const [node] = stranger.nodes;
    if (node === undefined) throw new Error("there is no node");
    await withNode(stranger, 0, async (connection) => {
      await connection.config("SET", "cluster-require-full-coverage", "no");
      await connection.cluster("ADDSLOTS", 0);
      await eventually("it takes a key", async () =>
        connection.set(`{${slotTags()[0] ?? ""}}`, "1").then(
          () => true,
          () => false,
        ),
      );
      await connection.cluster("DELSLOTS", 0);
      await connection.config("SET", "requirepass", resizing.deployment.access.password ?? "");
    });
    const joined = { ...resizing.deployment, nodes: [...resizing.deployment.nodes.slice(0, 8), node] };
    const leaving = resizing.deployment.nodes.slice(8);
    await expect(form(joined, shape(3, 2), { leaving })).rejects.toThrow(
      /stranger-0 cannot join, because it would lose the 1 keys|would not survive the loss of a zone/,
    );
  });

  it("refuses when the remaining primaries cannot hold all keys", async () => {
    await resizing.resizeTo(shape(4, 1));
    const clients = new Clients(resizing.deployment, 0);
    await clients.fill(60, 1_000_000);
    for (const [index] of resizing.deployment.nodes.entries()) {
      await withNode(resizing.deployment, index, async (connection) =>
        connection.config(
          "SET",
          "maxmemory",
          Math.round(1.05 * Number(parseInfo(await connection.info("memory")).get("used_memory"))),
        ),
      );
    }
    const before = await resizing.views();
    await expect(resizing.resizeTo(shape(3, 1))).rejects.toThrow(
      /cluster cannot be resized: cluster-\d would hold [\d.]+ MiB \([\d.]+ MiB of it from migrated slots\), more than its maxmemory of [\d.]+ MiB/,
    );
    expect(await resizing.views()).toEqual(before);
    await clients.stop();
  });
});
