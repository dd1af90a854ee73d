/** Clocks that are set while a deployment is archived. They decide neither what is deleted nor what is newest. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { Archiver } from "../../../backup/archiver/archiver";
import { openArchive } from "../../../backup/archiver/run-archive";
import { type Restore, chooseRestore, readCatalog, readRestore } from "../../../backup/archive/catalog";
import { holdingSets } from "../../../backup/archive/keeping/holds";
import { Retention } from "../../../backup/archive/keeping/retention";
import { materialize } from "../../../backup/archive/materialize";
import { listSets } from "../../../backup/archive/sets";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, never, realPrograms } from "../../support/valkey/real";
import { startServer } from "../../support/valkey/server-process";

const sandbox = useSandbox();
const DAY = 24 * 3_600_000;

async function runArchiver(
  deployment: Deployment,
  folder: string,
  { baseEveryMs, keepMs }: { readonly baseEveryMs: number; readonly keepMs: number },
  work: (lines: readonly string[]) => Promise<void>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const stop = new AbortController();
  const archiver = new Archiver({
    deployment: Object.assign(Object.create(deployment) as Deployment, { refresh: () => Promise.resolve() }),
    open: () => openArchive(new DirectoryStore(folder), deployment, never),
    spoolDirectory: `${folder}-spool`,
    spoolBytes: 10 ** 8,
    ...{ baseEveryMs, keepMs },
    log: (line) => lines.push(line),
  });
  const running = archiver.run(stop.signal);
  try {
    await work(lines);
  } finally {
    stop.abort();
    await running;
  }
  return lines;
}

const bases = (lines: readonly string[], count: number): Promise<void> =>
  eventually(
    `there are ${count} bases`,
    () => lines.filter((line) => line.includes("base with")).length >= count,
    60_000,
  );

it.each([
  ["a month ahead while it runs", 30 * DAY, false],
  ["a month ahead before it starts", 30 * DAY, true],
  ["back by a month while it runs", -30 * DAY, false],
  ["ahead by eight days and back again", 8 * DAY, undefined],
] as const)("deletes no set that is seconds old when the clock is set %s", async (_title, stepMs, isBefore) => {
  const deployment = await sandbox.replication(`kept-${stepMs / DAY}-${String(isBefore)}`, 0);
  const folder = join(sandbox.host.run.path, `kept-${stepMs / DAY}-${String(isBefore)}-archive`);
  const now = Date.now.bind(Date);
  const write = async (): Promise<void> => {
    for (let value = 0; value < 20; value++) {
      await callNode(deployment, 0, "SET", "key", String(value));
      await sleep(50);
    }
  };
  const lines: string[] = [];
  const run = async (steps: readonly number[], count: number): Promise<void> => {
    lines.push(
      ...(await runArchiver(deployment, folder, { baseEveryMs: 1_000, keepMs: 7 * DAY }, async (printed) => {
        for (const [index, step] of steps.entries()) {
          spy.mockImplementation(() => now() + step);
          await write();
          await bases(printed, (index + 1) * count);
        }
      })),
    );
  };
  const spy = vi.spyOn(Date, "now");
  try {
    await run([0], 2);
    await run(isBefore === true ? [stepMs] : isBefore === false ? [0, stepMs] : [stepMs, 0], 2);
  } finally {
    spy.mockRestore();
  }
  expect(lines.filter((line) => line.includes("deleted set"))).toEqual([]);
  const { periods } = await readCatalog(new DirectoryStore(folder));
  expect(periods[0]?.shards[0]?.sets.length).toBeGreaterThanOrEqual(4);
});

it("restores the newest data after the clock was set back, and refuses a time that it has twice", async () => {
  const deployment = await sandbox.replication("back", 0);
  const folder = join(sandbox.host.run.path, "back-archive");
  const now = Date.now.bind(Date);
  const spy = vi.spyOn(Date, "now");
  const write = async (value: string): Promise<void> => {
    await callNode(deployment, 0, "SET", "key", value);
    await sleep(4_000);
  };
  let twice = 0;
  const schedule = { baseEveryMs: DAY, keepMs: 7 * DAY };
  try {
    await runArchiver(deployment, folder, schedule, async (lines) => {
      await bases(lines, 1);
      await write("first");
      twice = Date.now();
      await write("second");
      spy.mockImplementation(() => now() - 7_000);
      await write("third");
      await write("newest");
    });
  } finally {
    spy.mockRestore();
  }
  const catalog = await readCatalog(new DirectoryStore(folder));
  const choice = chooseRestore(catalog, undefined);
  if (typeof choice === "string") throw new Error(choice);
  const [shard] = (await readRestore(choice)).shards;
  if (shard === undefined) throw new Error("there is no shard");
  const target = join(sandbox.host.run.path, "back-restored");
  await materialize(shard.store, shard.set, shard.point, target);
  const settings = { appendonly: "yes", "aof-load-truncated": "no" };
  const server = await startServer(sandbox, await realPrograms(), target, settings);
  expect(await server.connection.get("key")).toBe("newest");
  await server.kill();
  expect(chooseRestore(catalog, twice)).toContain("is in the archive twice");
});

it("deletes a set when the archive has run for the kept time since the set ended", async () => {
  const deployment = await sandbox.replication("deleted", 0);
  const folder = join(sandbox.host.run.path, "deleted-archive");
  await runArchiver(deployment, folder, { baseEveryMs: 1_000, keepMs: 2_000 }, (lines) =>
    eventually("two sets are deleted", () => lines.filter((line) => line.includes("deleted set")).length >= 2, 60_000),
  );
  const catalog = await readCatalog(new DirectoryStore(folder));
  expect(catalog.damaged).toEqual([]);
  expect(typeof chooseRestore(catalog, undefined)).toBe("object");
});

it("does not delete sets that a restore reads, until the restore ends or dies", async () => {
  const deployment = await sandbox.replication("held", 0);
  const folder = join(sandbox.host.run.path, "held-archive");
  await runArchiver(deployment, folder, { baseEveryMs: 1_000, keepMs: 7 * DAY }, (lines) => bases(lines, 4));
  const store = new DirectoryStore(folder);
  const { periods, ...common } = await readCatalog(store);
  const [period] = periods;
  const [shard] = period?.shards ?? [];
  const [first, second] = shard?.sets ?? [];
  if (period === undefined || shard === undefined || first === undefined || second === undefined)
    throw new Error("there are no sets");
  const restoreOf = ({ set }: typeof first): Restore => ({
    ...{ ...common, period: period.period },
    shards: [{ ...shard, set: { ...set, increments: [] }, point: { at: 0, offset: 0 } }],
  });
  const names = async (): Promise<readonly string[]> => listSets(shard.store);
  // A restore that was killed: its hold is not renewed.
  await store.put("holds/dead.json", [
    Buffer.from(
      JSON.stringify({ version: 1, sets: [`${period.period.name}/shard-0/${second.set.name}`], renewals: 3 }),
    ),
  ]);
  const retention = new Retention(store, {
    ...{ keepMs: 1_000, holdMs: 7_000, liveSets: new Set<string>(), lost: never, signal: never },
    onTidied: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  const reports: string[] = [];
  await holdingSets(
    restoreOf(first),
    (line) => reports.push(line),
    async () => {
      retention.tidy();
      await sleep(3_500);
      expect(await names()).toContain(second.set.name);
      await eventually("the hold of the killed restore ends", async () => !(await names()).includes(second.set.name));
      await sleep(7_000);
      expect(await names()).toContain(first.set.name);
    },
    700,
  );
  await eventually("the set is deleted", async () => !(await names()).includes(first.set.name));
  await retention.end();
  expect(reports).toEqual([]);
  await expect(
    holdingSets(
      restoreOf(first),
      () => undefined,
      () => Promise.resolve(),
    ),
  ).rejects.toThrow("was deleted before the restore began");
  expect(await store.list("holds")).toEqual([]);
}, 120_000);
