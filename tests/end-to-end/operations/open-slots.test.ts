/** Open slot migrations on real servers: an abandoned one is ended, and one that somebody works on is left alone. */
import { beforeEach, describe, expect, it } from "vitest";
import { repairDeployment } from "../../../operations/changes/repair";
import { readOpenSlots } from "../../../valkey/resize/open-slots";
import { verify } from "../../../valkey/verification/verify";
import { TestHealer } from "../../support/valkey/healing";
import { useResizableCluster } from "../../support/valkey/hooks";
import { callNode, never, referenceTo, withNode } from "../../support/valkey/real";
import { shape } from "../../support/valkey/resizable-cluster";

const KEYS = 200;

describe("an open slot migration", { timeout: 300_000 }, () => {
  const cluster = useResizableCluster();
  let healer: TestHealer;
  let slot: number;
  let source: number;
  let destination: number;

  const at = (place: number, ...words: [string, ...(string | number)[]]): Promise<unknown> =>
    callNode(cluster.deployment, place, ...words);
  const keysAt = (place: number): Promise<unknown> => at(place, "CLUSTER", "COUNTKEYSINSLOT", slot);
  async function moveKeys(count: number): Promise<void> {
    const keys = (await at(source, "CLUSTER", "GETKEYSINSLOT", slot, count)) as string[];
    const { host, port } = cluster.deployment.nodes[destination]?.endpoint ?? { host: "", port: 0 };
    const { password = "" } = cluster.deployment.access;
    await at(source, "MIGRATE", host, port, "", 0, 5000, "AUTH", password, "KEYS", ...keys);
  }

  beforeEach(async () => {
    healer = new TestHealer(cluster.deployment, shape(3, 1));
    const { verdict } = await verify(cluster.deployment);
    slot = Number(await at(0, "CLUSTER", "KEYSLOT", "{tag}"));
    const owner = verdict.shards.findIndex(({ slots }) => slots.some(({ from, to }) => from <= slot && slot <= to));
    const primaries = verdict.shards.map(({ primary }) => cluster.index(primary ?? ""));
    source = primaries[owner] ?? 0;
    destination = primaries[(owner + 1) % 3] ?? 0;
    await withNode(cluster.deployment, source, (connection) =>
      Promise.all(Array.from({ length: KEYS }, (_, key) => connection.set(`{tag}${key}`, "value"))),
    );
    await cluster.mark(destination, slot, "IMPORTING", source);
    await cluster.mark(source, slot, "MIGRATING", destination);
  });

  it("that nobody works on is completed after five minutes, with all keys", async () => {
    await moveKeys(KEYS / 2);
    for (let seconds = 0; seconds <= 300; seconds += 60) await healer.lookAfter(seconds);
    expect(healer.kinds).toEqual(["waiting", "waiting"]);
    expect(healer.reports[0]?.message).toContain(`the migration of slots ${slot} has not ended`);
    expect(await keysAt(destination)).toBe(KEYS / 2);
    await healer.lookAfter(330);
    expect(healer.kinds).toContain("done");
    expect(await readOpenSlots(cluster.deployment)).toBeUndefined();
    expect([await keysAt(source), await keysAt(destination)]).toEqual([0, KEYS]);
    expect(await cluster.violations()).toEqual([expect.stringMatching(/^shares of /)]);
  });

  it("whose target has no keys yet is cancelled, and no key moves", async () => {
    for (const seconds of [0, 300, 330]) await healer.lookAfter(seconds);
    expect(healer.kinds).toContain("done");
    expect([await keysAt(source), await keysAt(destination)]).toEqual([KEYS, 0]);
    expect(await readOpenSlots(cluster.deployment)).toBeUndefined();
  });

  it("that somebody continues every four minutes is left alone", async () => {
    for (let step = 0; step < 10; step++) {
      await moveKeys(1);
      await healer.lookAfter(step * 240);
      // Clients read and write, but that is not work on the slot.
      await at(source, "SET", "{tag}0", "value").catch(() => undefined);
      await healer.lookAfter(step * 240 + 200);
    }
    // A tool that only sets marks, such as one that moves slots without keys.
    await cluster.mark(source, slot, "MIGRATING", destination);
    await healer.lookAfter(2500);
    expect(healer.kinds).toEqual(["waiting"]);
    expect(await keysAt(destination)).toBe(10);
    // Somebody continues after the look by which a repair was decided.
    const work = (await readOpenSlots(cluster.deployment))?.work;
    await moveKeys(1);
    const repair = (abandoned: string | undefined): Promise<boolean> =>
      repairDeployment(
        referenceTo(cluster.deployment, shape(3, 1)),
        cluster.deployment.access.password ?? "",
        { handOver: false, abandoned },
        { timeoutMs: 60_000, signal: never, report: () => undefined },
      );
    await expect(repair(work)).rejects.toThrow(/somebody is still working on a slot migration/);
    expect(await keysAt(destination)).toBe(11);
    await repair((await readOpenSlots(cluster.deployment))?.work);
    expect(await keysAt(destination)).toBe(KEYS);
  });
});
