/** A cluster of real servers that is resized while clients write to it and read from it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeploymentNode } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import type { Programs } from "../../../platforms/host/programs/programs";
import { parseInfo } from "../../../valkey/topology/info";
import { verify } from "../../../valkey/verification/verify";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { inspectDeployment } from "../../../provider/drift";
import { Clients } from "../../support/valkey/clients";
import { eventually, olderPrograms, never, realPrograms, withNode } from "../../support/valkey/real";
import { optionsInterruptedAt, ResizableCluster, shape } from "../../support/valkey/resizable-cluster";

let older: Programs | undefined;
beforeAll(async () => {
  older = await olderPrograms();
});

describe.each(["with atomic slot migration", "key by key (Valkey 8.1)"])("resizing %s", (way) => {
  const isAtomic = way.includes("atomic");
  let resizing: ResizableCluster;
  beforeAll(async () => {
    const programs = isAtomic ? await realPrograms() : older;
    if (programs !== undefined) resizing = await ResizableCluster.start(programs);
  });
  afterAll(() => (isAtomic || older !== undefined ? resizing.close() : undefined));
  const test = (title: string, run: () => Promise<void>): void => {
    it(title, async ({ skip }) => {
      if (!isAtomic && older === undefined) skip("Debian's packages of Valkey 8.1 cannot be had here");
      await run();
    });
  };

  test("grows and shrinks in primaries and replicas while clients work: no command fails, no key is lost", async () => {
    const clients = new Clients(resizing.deployment);
    await expect(
      resizing.resizeTo(shape(4, isAtomic ? 1 : 0), optionsInterruptedAt(/migrated \d+ of/)),
    ).rejects.toThrow("interrupted");
    // (6, 0) makes primaries of replicas. Key by key there are fewer shapes, because it takes longer.
    for (const wanted of isAtomic
      ? [shape(4, 1), shape(5, 1), shape(3, 1), shape(3, 2), shape(6, 0), shape(3, 1)]
      : [shape(4, 0), shape(3, 1)]) {
      await resizing.resizeTo(wanted);
      expect(await resizing.violations()).toEqual([]);
    }
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
    expect(clients.keys).toBeGreaterThan(500);
  });

  test("changes nothing the second time: not a byte of any node's view", async () => {
    const before = await resizing.views();
    expect(await form(resizing.deployment, shape(3, 1))).toMatchObject({ changed: false });
    expect(await resizing.views()).toEqual(before);
  });

  test("ends migrations that were left open, whichever marks and keys they left on which side", async () => {
    const [a = "", b = ""] = await resizing.primaries();
    const { verdict } = await verify(resizing.deployment);
    const slot = verdict.shards[0]?.slots[0]?.from ?? 0;
    const id = (name: string): Promise<string> =>
      withNode(resizing.deployment, resizing.index(name), (connection) => connection.cluster("MYID"));
    const mark = (node: string, at: number, direction: string, peer: string): Promise<unknown> =>
      withNode(resizing.deployment, resizing.index(node), async (connection) =>
        connection.call("CLUSTER", "SETSLOT", at, direction, await id(peer)),
      );
    const key = (at: number, rest: string): string => `{${slotTags()[at] ?? ""}}${rest}`;
    const put = (at: number, rest: string): Promise<unknown> =>
      withNode(resizing.deployment, resizing.index(a), (connection) => connection.set(key(at, rest), rest));
    for (const at of [slot, slot + 1, slot + 2, slot + 3]) for (const rest of ["one", "two"]) await put(at, rest);
    // One key migrated, both sides marked; the same without the source's mark; only the source marked; only the target.
    for (const at of [slot, slot + 1]) {
      await mark(b, at, "IMPORTING", a);
      await mark(a, at, "MIGRATING", b);
      const { endpoint } = resizing.deployment.nodes[resizing.index(b)] ?? { endpoint: { host: "", port: 0 } };
      await withNode(resizing.deployment, resizing.index(a), (connection) =>
        connection.call(
          "MIGRATE",
          endpoint.host,
          endpoint.port,
          key(at, "one"),
          0,
          5000,
          "AUTH",
          resizing.deployment.access.password ?? "",
        ),
      );
    }
    await withNode(resizing.deployment, resizing.index(a), (connection) =>
      connection.call("CLUSTER", "SETSLOT", slot + 1, "STABLE"),
    );
    await mark(a, slot + 2, "MIGRATING", b);
    await mark(b, slot + 3, "IMPORTING", a);
    expect(await resizing.violations()).not.toEqual([]);

    expect(await form(resizing.deployment, shape(3, 1))).toMatchObject({ changed: true });
    expect(await resizing.violations()).toEqual([]);
    const clients = new Clients(resizing.deployment, 0);
    for (const at of [slot, slot + 1, slot + 2, slot + 3])
      for (const rest of ["one", "two"]) expect(await clients.get(key(at, rest))).toBe(rest);
    await clients.stop();
  });

  test("continues where a killed resize stopped, also when the next one undoes the first", async () => {
    const clients = new Clients(resizing.deployment);
    // Starts the servers, and is stopped before it adds them: another process does that.
    await expect(resizing.resizeTo(shape(4, 1), optionsInterruptedAt(/./))).rejects.toThrow("interrupted");
    const nodes = resizing.sandbox.host.nodes("cluster");
    expect(nodes).toHaveLength(8);
    expect(
      await resizing.resizeKilled(
        shape(4, 1),
        nodes,
        [],
        isAtomic ? /migrating slots:/ : /migrated [1-9]\d\d of \d+ slots/,
        10,
      ),
    ).toBe(true);
    if (isAtomic) {
      await resizing.resizeTo(shape(4, 1));
      expect(await resizing.violations()).toEqual([]);
      expect(await resizing.resizeKilled(shape(3, 1), nodes.slice(0, 6), nodes.slice(6), /migrating slots:/, 30)).toBe(
        true,
      );
      await resizing.resizeTo(shape(4, 1));
      expect(await resizing.violations()).toEqual([]);
      expect(await resizing.resizeKilled(shape(3, 1), nodes.slice(0, 6), nodes.slice(6), /removing nodes/, 0)).toBe(
        true,
      );
    }
    await resizing.resizeTo(shape(3, 1));
    expect(await resizing.violations()).toEqual([]);
    expect(await clients.stop()).toEqual([]);
    expect(clients.errors).toEqual([]);
  });
});

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
      (await inspectDeployment(target, access.password ?? "", never)).drift;
    expect(await drift()).toEqual([
      expect.stringMatching(/^3 of 3 primaries are in zone a: cluster-\d is to take over from cluster-\d$/),
      expect.stringMatching(/^3 of 3 primaries are in zone a: /),
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
          while (!stop.signal.aborted) await connection.call("CLUSTER", "CANCELSLOTMIGRATIONS").catch(ignoreNone);
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
    const said = lines.flatMap((line) => /goes on with \d+ slots|gives way to key by key/.exec(line)?.[0] ?? []);
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
      /6 nodes: 4 primaries with 1 replicas each need 8/,
    );
    await expect(form(deployment, shape(3, 1))).rejects.toThrow(
      /cluster cannot be resized: cluster-0 knows a node that is not part of this deployment/,
    );
    const crowded = {
      ...deployment,
      nodes: deployment.nodes.map((node, index) => ({ ...node, zone: index < 5 ? "a" : "b" })),
    };
    await expect(form(crowded, shape(3, 1), { leaving })).rejects.toThrow(/would not be zone-safe/);
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
      /stranger-0 cannot join: it holds 1 keys of its own|would not be zone-safe/,
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
