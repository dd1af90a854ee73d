/** Open slot migrations on real servers: an abandoned one is ended, and one that somebody works on is left alone. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { HealingReport } from "../../../controller/healer";
import { Healer } from "../../../controller/healer";
import { lookOf } from "../../../controller/look";
import { NO_LOCK } from "../../../controller/repair-lock";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { inspectDeployment } from "../../../provider/updates/drift";
import { repairDeployment } from "../../../provider/updates/repair";
import { readOpenSlots } from "../../../valkey/resize/open-slots";
import { verify } from "../../../valkey/verification/verify";
import { never, realPrograms, withNode } from "../../support/valkey/real";
import { ResizableCluster, shape } from "../../support/valkey/resizable-cluster";

const KEYS = 200;
const START = Date.parse("2026-11-27T12:00:00.000Z");

describe("an open slot migration", { timeout: 300_000 }, () => {
  let cluster: ResizableCluster;
  let target: DeploymentReference;
  let password: string;
  let reports: HealingReport[];
  let clock: number;
  let healer: Healer;
  /** The slot, and the places of its owner and of the node to which it moves. */
  let slot: number;
  let source: number;
  let destination: number;
  beforeAll(async () => {
    cluster = await ResizableCluster.start(await realPrograms());
    const { name, mode, zones = [], directives, nodes, access } = cluster.deployment;
    target = {
      platform: "endpoints",
      ...{ name, mode, shape: shape(3, 1), zones, nodes },
      directives: Object.fromEntries(directives),
    };
    password = access.password ?? "";
  });
  afterAll(() => cluster.close());

  const at = (place: number, ...words: readonly [string, ...(string | number)[]]): Promise<unknown> =>
    withNode(cluster.deployment, place, (connection) => connection.call(words[0], ...words.slice(1)));
  /** Moves keys as valkey-cli does. */
  async function moveKeys(count: number): Promise<void> {
    const keys = (await at(source, "CLUSTER", "GETKEYSINSLOT", slot, count)) as string[];
    const { host, port } = cluster.deployment.nodes[destination]?.endpoint ?? { host: "", port: 0 };
    await at(source, "MIGRATE", host, port, "", 0, 5000, "AUTH", password, "KEYS", ...keys);
  }
  const keysAt = (place: number): Promise<unknown> => at(place, "CLUSTER", "COUNTKEYSINSLOT", slot);
  /** A look some seconds after the start, and the healer's decision. */
  async function lookAfter(seconds: number): Promise<void> {
    clock = START + seconds * 1000;
    const inspection = await inspectDeployment(target, password, { signal: never, forRepair: true });
    const look = lookOf("cluster", inspection, { at: new Date(clock), seconds: 0.1, former: undefined });
    await healer.afterLook(look, never);
  }
  const kinds = (): string[] => reports.map(({ kind }) => kind);

  beforeEach(async () => {
    reports = [];
    clock = START;
    healer = new Healer(
      {
        lock: NO_LOCK,
        repair: (limits, signal, report) =>
          repairDeployment(target, password, limits, { timeoutMs: 60_000, signal, report }),
        report: (report) => void reports.push(report),
      },
      () => clock,
    );
    const { verdict } = await verify(cluster.deployment);
    slot = Number(await at(0, "CLUSTER", "KEYSLOT", "{tag}"));
    const owner = verdict.shards.findIndex(({ slots }) => slots.some(({ from, to }) => from <= slot && slot <= to));
    const primaries = verdict.shards.map(({ primary }) => cluster.index(primary ?? ""));
    source = primaries[owner] ?? 0;
    destination = primaries[(owner + 1) % 3] ?? 0;
    for (let key = 0; key < KEYS; key++) await at(source, "SET", `{tag}${key}`, "value");
    await at(destination, "CLUSTER", "SETSLOT", slot, "IMPORTING", String(await at(source, "CLUSTER", "MYID")));
    await at(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", String(await at(destination, "CLUSTER", "MYID")));
  });

  it("that nobody works on is completed after five minutes, with all keys", async () => {
    await moveKeys(KEYS / 2);
    for (let seconds = 0; seconds <= 300; seconds += 60) await lookAfter(seconds);
    expect(kinds()).toEqual(["waiting", "waiting"]);
    expect(reports[0]?.message).toContain(`the migration of slots ${slot} has not ended`);
    expect(await keysAt(destination)).toBe(KEYS / 2);
    await lookAfter(330);
    expect(kinds()).toContain("done");
    expect(await readOpenSlots(cluster.deployment)).toBeUndefined();
    expect([await keysAt(source), await keysAt(destination)]).toEqual([0, KEYS]);
    expect(await cluster.violations()).toEqual([expect.stringMatching(/^shares of /)]);
  });

  it("whose target has no keys yet is cancelled, and no key moves", async () => {
    for (const seconds of [0, 300, 330]) await lookAfter(seconds);
    expect(kinds()).toContain("done");
    expect([await keysAt(source), await keysAt(destination)]).toEqual([KEYS, 0]);
    expect(await readOpenSlots(cluster.deployment)).toBeUndefined();
  });

  it("that somebody continues every four minutes is left alone", async () => {
    for (let step = 0; step < 10; step++) {
      await moveKeys(1);
      await lookAfter(step * 240);
      // Clients read and write, but that is not work on the slot.
      await at(source, "SET", "{tag}0", "value").catch(() => undefined);
      await lookAfter(step * 240 + 200);
    }
    // A tool that only sets marks, such as one that moves slots without keys.
    await at(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", String(await at(destination, "CLUSTER", "MYID")));
    await lookAfter(2500);
    expect(kinds()).toEqual(["waiting"]);
    expect(await keysAt(destination)).toBe(10);
    // Somebody continues after the look by which a repair was decided.
    const work = (await readOpenSlots(cluster.deployment))?.work;
    await moveKeys(1);
    const options = { timeoutMs: 60_000, signal: never, report: () => undefined };
    const late = repairDeployment(target, password, { handOver: false, abandoned: work }, options);
    await expect(late).rejects.toThrow(/somebody is still working on a slot migration/);
    expect(await keysAt(destination)).toBe(11);
    await repairDeployment(
      ...([target, password] as const),
      { handOver: false, abandoned: (await readOpenSlots(cluster.deployment))?.work },
      options,
    );
    expect(await keysAt(destination)).toBe(KEYS);
  });
});
