/** Resizes of real servers that fail over, hand back, give way to key by key, or are refused. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { form } from "../../../valkey/formation/form";
import { parseInfo } from "../../../valkey/topology/replies";
import { verify } from "../../../valkey/verification/verify";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { inspectDeployment } from "../../../operations/inspection/drift";
import { Clients } from "../../support/valkey/clients";
import { useResizableCluster } from "../../support/valkey/hooks";
import { callNode, clusterViews, eventually, never, referenceTo, withNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

describe("resizing", () => {
  const resizing = useResizableCluster({ "enable-debug-command": "local" });

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
    for (const index of leaving.map(({ name }) => resizing.index(name))) {
      expect(await callNode(resizing.deployment, index, "DBSIZE")).toBe(0);
      expect(await callNode(resizing.deployment, index, "CLUSTER", "INFO")).toContain("cluster_known_nodes:1");
    }
    await form(resizing.deployment, shape(3, 2));
    expect(await resizing.violations()).toEqual([]);
    await clients.expectNothingLost();
  });

  it("hands back where failovers have left most primaries in one zone, which a refresh shows as drift", async () => {
    const { deployment } = resizing;
    const zoneOf = new Map(deployment.nodes.map(({ name, zone }) => [name, zone]));
    const clients = new Clients(deployment);
    const crowded = deployment.nodes[0]?.zone;
    for (const { primary = "", replicas } of (await verify(deployment)).verdict.shards) {
      if (zoneOf.get(primary) === crowded) continue;
      const next = replicas.find((name) => zoneOf.get(name) === crowded) ?? "";
      await callNode(deployment, resizing.index(next), "CLUSTER", "FAILOVER");
      await eventually(`${next} is primary`, async () => (await resizing.primaries()).includes(next));
    }
    const wanted = shape(3, 2);
    const drift = async (): Promise<readonly string[]> =>
      (await inspectDeployment(referenceTo(deployment, wanted), deployment.access.password ?? "", { signal: never }))
        .drift;
    expect(await drift()).toEqual([
      expect.stringMatching(/^3 of 3 primaries are in zone a, so cluster-\d must take over from cluster-\d$/),
      expect.stringMatching(/^3 of 3 primaries are in zone a, so /),
    ]);
    await form(deployment, wanted);
    expect(await drift()).toEqual([]);
    expect(new Set((await resizing.primaries()).map((primary) => zoneOf.get(primary))).size).toBe(3);
    await clients.expectNothingLost();
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
          // The pause leaves the processors to the servers.
          while (!stop.signal.aborted) {
            await connection.call("CLUSTER", "CANCELSLOTMIGRATIONS").catch(ignoreNone);
            await sleep(2);
          }
        }),
      ),
    );
    // Then none ends before it is cancelled.
    const prevent = (value: 0 | 1): Promise<unknown> =>
      Promise.all(
        deployment.nodes.map((_node, index) =>
          callNode(deployment, index, "DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", value),
        ),
      );
    const lines: string[] = [];
    await prevent(1);
    try {
      await resizing.resizeTo(shape(4, 2), { report: (line) => lines.push(line) });
    } finally {
      stop.abort();
      await failing;
      await prevent(0);
    }
    expect(await resizing.violations()).toEqual([]);
    // Each of three sources goes the same way.
    const said = lines.flatMap((line) => /continues with \d+ slots|migrated key by key/.exec(line)?.[0] ?? []);
    const steps = ["341 slots", "85 slots", "21 slots", "16 slots", "key by key"];
    expect(steps.map((step) => said.filter((each) => each.endsWith(` ${step}`)).length)).toEqual(steps.map(() => 3));
    await resizing.resizeTo(shape(3, 2));
    await clients.expectNothingLost();
  });

  it("refuses, with the reason and without a change, what would lose keys or break another cluster", async () => {
    const all = resizing.deployment;
    const deployment = { ...all, nodes: all.nodes.slice(0, -3) };
    const leaving = all.nodes.slice(-3);
    const before = await clusterViews(all);
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
    expect(await clusterViews(resizing.deployment)).toEqual(before);
  });

  it("refuses to add a node with keys of its own", async () => {
    const stranger = await resizing.sandbox.cluster("stranger", 3, 0);
    const { nodes } = resizing.deployment;
    // In the zone of the node whose place it takes.
    const at = stranger.nodes.findIndex(({ zone }) => zone === nodes[8]?.zone);
    await withNode(stranger, at, async (connection) => {
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
    const joined = { ...resizing.deployment, nodes: [...nodes.slice(0, 8), ...stranger.nodes.slice(at, at + 1)] };
    await expect(form(joined, shape(3, 2), { leaving: nodes.slice(8) })).rejects.toThrow(
      /stranger-\d cannot join, because it would lose the 1 keys/,
    );
  });

  it("refuses when the remaining primaries cannot hold all keys", async () => {
    await resizing.resizeTo(shape(4, 1));
    const clients = new Clients(resizing.deployment, 0);
    await clients.fill(60, 1_000_000);
    for (const [index] of resizing.deployment.nodes.entries()) {
      const info = parseInfo(String(await callNode(resizing.deployment, index, "INFO", "memory")));
      const maxmemory = Math.round(1.05 * Number(info.get("used_memory")));
      await callNode(resizing.deployment, index, "CONFIG", "SET", "maxmemory", maxmemory);
    }
    const before = await clusterViews(resizing.deployment);
    await expect(resizing.resizeTo(shape(3, 1))).rejects.toThrow(
      /cluster cannot be resized: cluster-\d would hold [\d.]+ MiB \([\d.]+ MiB of it from migrated slots\), more than its maxmemory of [\d.]+ MiB/,
    );
    expect(await clusterViews(resizing.deployment)).toEqual(before);
    await clients.stop();
  });
});
