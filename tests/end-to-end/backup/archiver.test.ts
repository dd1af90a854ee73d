/** The archiver of a pod, with real servers. */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Archiver } from "../../../backup/archiver/archiver";
import { openArchive } from "../../../backup/archiver/run-archive";
import { readCatalog } from "../../../backup/archive/catalog";
import { DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { fillingStore } from "../../support/valkey/filling-store";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, never } from "../../support/valkey/real";

const sandbox = useSandbox();

interface Archived {
  readonly archiver: Archiver;
  readonly store: DirectoryStore;
  readonly lines: string[];
  readonly stop: () => Promise<void>;
}

function archive(
  name: string,
  deployment: Deployment,
  refresh: () => Promise<void>,
  isFull: () => boolean,
  changes: Partial<DirectoryStore> = {},
): Archived {
  const directory = join(sandbox.host.run.path, name);
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "archive");
  const lines: string[] = [];
  const stop = new AbortController();
  const archiver = new Archiver({
    // The list of nodes is read each time, so it must not be copied.
    deployment: Object.defineProperties({ ...deployment, refresh }, Object.getOwnPropertyDescriptors(deployment)),
    open: () => openArchive(Object.assign(fillingStore(path, isFull), changes), deployment, never),
    spoolDirectory: join(directory, "spool"),
    spoolBytes: 10 ** 8,
    ...{ baseEveryMs: 3_600_000, keepMs: 3_600_000 },
    log: (line) => lines.push(line),
  });
  const running = archiver.run(stop.signal);
  return {
    ...{ archiver, lines, store: new DirectoryStore(path) },
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

const rpo = ({ metrics }: Archiver, isReached: (seconds: number) => boolean): Promise<void> =>
  eventually(
    "the archive has that age",
    async () => isReached(Number(/^valkey_archive_rpo_seconds\{[^}]*\} (\S+)/m.exec(await metrics.text())?.[1] ?? NaN)),
    30_000,
  );
const hasBase = (lines: readonly string[], count = 1): Promise<void> =>
  eventually("the bases are written", () => lines.filter((line) => line.includes("base with")).length === count);
const known = (): Promise<void> => Promise.resolve();

it("goes on after interruptions, and says how old the archive is meanwhile", async () => {
  const deployment = await sandbox.replication("interrupted", 0);
  let attempts = 0;
  const refresh = (): Promise<void> =>
    ++attempts <= 2 ? Promise.reject(new Error("no answer by DNS")) : Promise.resolve();
  let isFull = false;
  const { archiver, store, lines, stop } = archive("interrupted-archive", deployment, refresh, () => isFull);
  expect(archiver.isReady).toBe(false);
  await hasBase(lines);
  expect(archiver.isReady).toBe(true);
  expect(lines.filter((line) => line.startsWith("interrupted: "))).toEqual(["interrupted: no answer by DNS"]);
  isFull = true;
  await callNode(deployment, 0, "SET", "key", "value");
  await rpo(archiver, (seconds) => seconds > 2);
  expect(await archiver.metrics.text()).toMatch(/errors_total\{deployment="interrupted",kind="place"\} [1-9]/);
  isFull = false;
  await rpo(archiver, (seconds) => seconds < 1);
  await stop();
  const { periods } = await readCatalog(store);
  expect(periods).toHaveLength(1);
  expect(periods[0]?.shards[0]?.sets).toHaveLength(1);
});

it("goes on with the new list when slots are on a node that it does not know", async () => {
  const cluster = await sandbox.formedCluster("grown", 3, 0);
  let nodes = cluster.nodes.slice(0, 2);
  const deployment: Deployment = {
    ...cluster,
    get nodes() {
      return nodes;
    },
  };
  const { archiver, lines, stop } = archive("grown-archive", deployment, known, () => false);
  await eventually("a node is missing", () => lines.some((line) => line.includes("not in the list of nodes")));
  nodes = [...cluster.nodes];
  await hasBase(lines, 3);
  await stop();
  expect(lines.at(-1)).toBe("stopped; all commands that arrived are in the archive");
  expect(await archiver.metrics.text()).toContain('errors_total{deployment="grown",kind="servers"} 1');
});

it("says how old the archive is after the clock was set back", async () => {
  const deployment = await sandbox.replication("clock", 0);
  let isFull = false;
  const { archiver, lines, stop } = archive("clock-archive", deployment, known, () => isFull);
  await hasBase(lines);
  const now = Date.now.bind(Date);
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now() - 3_600_000);
  try {
    await eventually("the archive says so", () => lines.some((line) => line.includes("set back by 3600.0 s")));
    await rpo(archiver, (seconds) => seconds < 1);
    isFull = true;
    await callNode(deployment, 0, "SET", "key", "value");
    await rpo(archiver, (seconds) => seconds > 2);
    isFull = false;
  } finally {
    spy.mockRestore();
    await stop();
  }
});

it("ends a deletion of old sets when its archive is interrupted", async () => {
  const deployment = await sandbox.replication("tidied", 0);
  const first = archive("tidied-archive", deployment, known, () => false);
  await hasBase(first.lines);
  await first.stop();
  const { periods } = await readCatalog(first.store);
  // A deletion that has begun. It takes until its signal.
  await first.store.put(`${periods[0]?.period.name ?? ""}/shard-0/old/deleted.json`, [Buffer.from("{}")]);
  const removals: AbortSignal[] = [];
  const removeFolder = async (_name: string, _last: string, signal: AbortSignal): Promise<never> => {
    removals.push(signal);
    if (!signal.aborted) await once(signal, "abort");
    throw signal.reason;
  };
  let isFull = false;
  const { lines, stop } = archive("tidied-archive", deployment, known, () => isFull, { removeFolder });
  await eventually("the deletion goes on", () => removals.length > 0, 60_000);
  isFull = true;
  await callNode(deployment, 0, "SET", "key", "value");
  await eventually("the archive is interrupted", () => lines.some((line) => line.startsWith("interrupted: ")));
  expect(removals[0]?.aborted).toBe(true);
  isFull = false;
  await eventually("the archive and the deletion go on", () => removals.length > 1, 60_000);
  expect(lines.filter((line) => line.includes("not deleted"))).toEqual([]);
  await stop();
});
