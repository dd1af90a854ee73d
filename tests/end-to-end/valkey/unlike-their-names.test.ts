/** Verdicts on real servers that are not what their names, their mode or their roles say. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { inspectDeployment } from "../../../operations/inspection/drift";
import { repairDeployment } from "../../../operations/changes/repair";
import { findFreePorts } from "../../../platforms/host/ports";
import { startRecorded } from "../../../platforms/host/processes";
import type { Deployment } from "../../../valkey/deployment";
import { readOpenSlots } from "../../../valkey/resize/open-slots";
import { verify } from "../../../valkey/verification/verify";
import { TestHealer } from "../../support/valkey/healing";
import { usePlace, useSandbox } from "../../support/valkey/hooks";
import {
  Sandbox,
  callNode,
  eventually,
  eventuallyAccepts,
  failing,
  never,
  nodeOptions,
  olderPrograms,
  referenceTo,
  serverOptions,
  withNode,
} from "../../support/valkey/real";

const sandbox = useSandbox();
const place = usePlace();
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
let cluster: Deployment;
let replication: Deployment;
beforeAll(async () => {
  [cluster, replication] = await Promise.all([
    sandbox.formedCluster("cluster", 3, 1, { "enable-debug-command": "local", "cluster-node-timeout": 1000 }),
    sandbox.formedReplication("replication", 2),
  ]);
});

const password = ({ access }: Deployment): NodeJS.ProcessEnv => ({ VALKEY_PASSWORD: access.password });
const indexOf = (name: string | undefined): number => cluster.nodes.findIndex((node) => node.name === name);
const idOf = (index: number): Promise<string> => withNode(cluster, index, async (each) => each.cluster("MYID"));
const passes = (deployment: Deployment): Promise<void> =>
  eventually("it passes", async () => (await failing(deployment)).length === 0);
const onEveryNode = (...words: [string, ...(string | number)[]]): Promise<unknown> =>
  Promise.all(cluster.nodes.map((_node, index) => callNode(cluster, index, ...words)));

async function shard(
  at: number,
): Promise<{ readonly primary: number; readonly replica: number; readonly from: number }> {
  const { primary, replicas, slots } = (await verify(cluster)).verdict.shards[at] ?? { replicas: [], slots: [] };
  return { primary: indexOf(primary), replica: indexOf(replicas[0]), from: slots[0]?.from ?? 0 };
}

describe("an atomic slot migration", () => {
  let [source, target, from] = [0, 0, 0];
  async function hold(...ranges: readonly (readonly [from: number, to: number])[]): Promise<void> {
    ({ primary: source, from } = await shard(0));
    ({ primary: target } = await shard(1));
    await onEveryNode("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 1);
    const bounds = ranges.flat().map((each) => from + each);
    await callNode(cluster, source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", ...bounds, "NODE", await idOf(target));
  }
  const jobs = async (): Promise<string> => String(await callNode(cluster, source, "CLUSTER", "GETSLOTMIGRATIONS"));
  const name = (index: number): string => cluster.nodes[index]?.name ?? "";

  afterEach(async () => {
    await onEveryNode("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0);
    await callNode(cluster, source, "CLUSTER", "CANCELSLOTMIGRATIONS").catch(() => undefined);
    await passes(cluster);
  });

  it("counts as slots that are being migrated, at the source and at the target", async () => {
    await hold([0, 3], [9, 9]);
    const list = `5 slots (${from}-${from + 3} ${from + 9})`;
    await eventually("both know it", async () => /waiting-to-pause/.test(await jobs()));
    const [found, ...others] = await failing(cluster);
    expect(others).toEqual([]);
    expect(found).toContain(
      `no-moves: ${name(source)}: is migrating ${list} to ${name(target)} atomically: waiting-to-pause`,
    );
    expect(found).toContain(`${name(target)}: is importing ${list} from ${name(source)} atomically: `);
    // The drift of a stack contains it.
    const { drift } = await inspectDeployment(referenceTo(cluster, SHAPE), cluster.access.password ?? "", {
      former: undefined,
      signal: never,
    });
    expect(drift).toEqual([expect.stringMatching(/^no-moves: /)]);
  });

  it("is left alone by the controller, however long it takes", async () => {
    await hold([0, 3]);
    await eventually("both know it", async () => /waiting-to-pause/.test(await jobs()));
    expect(await readOpenSlots(cluster)).toMatchObject({
      slots: [from, from + 1, from + 2, from + 3],
      isMigrating: true,
    });
    const healer = new TestHealer(cluster, SHAPE);
    for (const seconds of [0, 300, 1900, 3600]) await healer.lookAfter(seconds);
    expect(healer.reports.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
      expect.stringMatching(/^waiting: .*an atomic slot migration is in progress/),
    ]);
    expect(await jobs()).toMatch(/waiting-to-pause/);
  });

  it("is left alone by a repair that was decided before it began, until it ends by itself", async () => {
    await hold([0, 3]);
    const order = { handOver: false, abandoned: undefined };
    const waiting = { timeoutMs: 60_000, signal: never, report: (): void => undefined };
    let hasEnded = false;
    const repair = repairDeployment(referenceTo(cluster, SHAPE), cluster.access.password ?? "", order, waiting).finally(
      () => {
        hasEnded = true;
      },
    );
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(hasEnded).toBe(false);
    expect(await jobs()).toMatch(/waiting-to-pause/);
    await onEveryNode("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0);
    await repair;
    expect(await jobs()).toMatch(/success/);
  });
});

it("servers without atomic slot migrations pass", async (context) => {
  const programs = await olderPrograms();
  if (programs === undefined) return context.skip("Valkey 8.1 cannot be had here");
  const older = await Sandbox.open(programs);
  try {
    const deployment = await older.formedCluster("older", 3, 0);
    await passes(deployment);
    expect(await readOpenSlots(deployment)).toBeUndefined();
  } finally {
    await older.close();
  }
});

describe("one server under two names", () => {
  const twice = (deployment: Deployment): Deployment => {
    const [first] = deployment.nodes;
    if (first === undefined) throw new Error("there is no node");
    const again = { ...first, name: "again", endpoint: { ...first.endpoint, host: "localhost" } };
    return { ...deployment, nodes: [...deployment.nodes, again] };
  };

  it("is bad input, with both names", async () => {
    const [first] = replication.nodes;
    const names = [`127.0.0.1:${first?.endpoint.port}`, `localhost:${first?.endpoint.port}`];
    for (const command of ["verify", "measure", "watch"]) {
      const words = [command, "--mode", "replication", ...nodeOptions(replication), "--node", `${names[1]}=a`];
      const { status, output } = await place.call(words, password(replication));
      expect([status, output]).toEqual([
        2,
        expect.stringContaining(`--node: ${names.join(" and ")} are the same server`),
      ]);
    }
  });

  it("is bad input over both versions of IP, too", async () => {
    const [first] = replication.nodes;
    await callNode(replication, 0, "CONFIG", "SET", "bind", "127.0.0.1 ::1");
    const words = ["verify", ...serverOptions(replication), "--node", `[::1]:${first?.endpoint.port}=a`];
    expect(await place.call(words, password(replication))).toEqual({
      status: 2,
      output: expect.stringContaining(
        `127.0.0.1:${first?.endpoint.port} and [::1]:${first?.endpoint.port} are the same server`,
      ) as unknown,
    });
    await callNode(replication, 0, "CONFIG", "SET", "bind", "127.0.0.1");
  });

  it("is one failed row where it turns up later, in both modes", async () => {
    for (const deployment of [cluster, replication]) {
      const { pass, assertions } = (await verify(twice(deployment))).verdict;
      expect(pass).toBe(false);
      expect(assertions.map(({ id, found }) => `${id}: ${found}`)).toEqual([
        `reachable: ${deployment.name}-0: is the same server as again; again: is the same server as ${deployment.name}-0`,
      ]);
    }
  });
});

describe("the mode", () => {
  it("replication does not fit a shard of a cluster, and the command to type is named", async () => {
    const { primary, replica } = await shard(0);
    const nodes = [primary, replica].flatMap((index) => cluster.nodes[index] ?? []);
    const { status, output } = await place.call(
      ["verify", "--mode", "replication", ...nodeOptions({ ...cluster, nodes })],
      password(cluster),
    );
    expect(status).toBe(1);
    expect(output.replace(/\s+/g, " ")).toMatch(
      /^=== Why replication does not pass === cause .* is a node of a cluster, not of a replication; give the mode cluster \(--mode cluster\)/,
    );
    expect(output).toContain("1 of 2 assertions do not hold: mode");
    expect(await failing({ ...cluster, mode: "replication", shape: {}, nodes: nodes.slice(1) })).toEqual([
      expect.stringMatching(/^mode: /),
    ]);
  });

  it("replication does not fit a Sentinel, without which the command is to be typed", async () => {
    const [directory, [port = 0]] = [mkdtempSync(join(tmpdir(), "sentinel-")), await findFreePorts(1)];
    const file = join(directory, "sentinel.conf");
    writeFileSync(file, `port ${port}\nbind 127.0.0.1\nrequirepass ${replication.access.password}\n`);
    const { run, programs } = sandbox.host;
    const { child } = startRecorded(run, "sentinel", programs.server, [file, "--sentinel"], { stdio: "ignore" });
    try {
      await eventuallyAccepts("sentinel", { host: "127.0.0.1", port }, replication.access);
      const { status, output } = await place.call(
        ["verify", ...serverOptions(replication), "--node", `127.0.0.1:${port}=a`],
        password(replication),
      );
      const words = output.replace(/\s+/g, " ");
      expect(status, output).toBe(1);
      expect(words).toContain(`127.0.0.1:${port}: is a Sentinel and has no data; name only servers that have data`);
      expect(words).toContain("type the command again with the mode that the message names, or without the Sentinels");
    } finally {
      child.kill();
      rmSync(directory, { recursive: true });
    }
  });

  it("cluster does not fit servers without cluster mode", async () => {
    expect(await failing({ ...replication, mode: "cluster", shape: {} })).toEqual([
      "mode: replication-0, replication-1, replication-2: is not in cluster mode; give the mode replication (--mode replication)",
    ]);
  });
});

describe("a replica of a replica", () => {
  it("is called that in a cluster", async () => {
    const [{ primary, replica: successor }, { replica }] = [await shard(0), await shard(1)];
    const [followed = "", follower = ""] = [primary, replica].map((index) => cluster.nodes[index]?.name);
    await callNode(cluster, replica, "CLUSTER", "REPLICATE", await idOf(primary));
    // It does not hear any more that its primary hands over, and stays its replica.
    await callNode(cluster, replica, "DEBUG", "DROP-CLUSTER-PACKET-FILTER", -2);
    try {
      await callNode(cluster, successor, "CLUSTER", "FAILOVER");
      await eventually("it is", async () =>
        (await failing(cluster)).some(
          (each) =>
            each.startsWith("replicas: ") &&
            each.includes(`${follower}: is a replica of ${followed}, which is a replica itself`),
        ),
      );
      expect((await failing(cluster)).join("; ")).not.toContain("is a primary without slots");
    } finally {
      await callNode(cluster, replica, "DEBUG", "DROP-CLUSTER-PACKET-FILTER", -1);
    }
  });

  it("is called that in a replication", async () => {
    const [, first] = replication.nodes;
    await callNode(replication, 2, "REPLICAOF", "127.0.0.1", String(first?.endpoint.port));
    await eventually("it is", async () =>
      (await failing(replication)).some((each) =>
        each.startsWith("all-online: replication-2: is a replica of replication-1, which is a replica itself"),
      ),
    );
    // The replica follows it by a name that no node has.
    await callNode(replication, 2, "REPLICAOF", "localhost", String(first?.endpoint.port));
    await eventually("it is", async () =>
      (await failing(replication)).some((each) =>
        each.startsWith("all-online: replication-2: is a replica of replication-1, which is a replica itself"),
      ),
    );
  });
});
