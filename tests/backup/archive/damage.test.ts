/** Archives that lack files: what is damaged, and when the last time is not the last one that was archived. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { useDirectory } from "../../support/directory";
import { printBackups } from "../../../cli/commands/backups";
import { restore } from "../../../cli/commands/restore";
import { ArchiveWriter } from "../../../backup/archive/archive-writer";
import { type Catalog, chooseRestore, newerDamage, readCatalog, readRestore } from "../../../backup/archive/catalog";
import { beginPeriod, claimArchive, shardStore } from "../../../backup/archive/periods";
import { DirectoryStore } from "../../../backup/archive/store";
import { commands, writeBase } from "../../support/valkey/archived-items";

const directory = useDirectory();
/** Folder of the set. */
let set: string;
beforeEach(async () => {
  const store = new DirectoryStore(directory.path);
  await claimArchive(store, { deployment: "shop", mode: "replication", nodes: ["10.0.0.1:6379"] }, directory.path);
  const shards = [{ name: "shard-0", slots: undefined }];
  const period = await beginPeriod(store, { startedAt: 0, shards, databases: 16 });
  const writer = new ArchiveWriter(shardStore(store, period, "shard-0"), { incrementMs: 0 });
  await writeBase(writer);
  for (const offset of [101, 102, 103]) await writer.write(commands(offset, "x"));
  await writer.close();
  const folder = join(directory.path, period.name, "shard-0");
  set = join(folder, readdirSync(folder)[0] ?? "none");
});
const never = new AbortController().signal;

const catalogOf = (): Promise<Catalog> => readCatalog(new DirectoryStore(directory.path));
const remove = (name: string): void => {
  rmSync(join(set, name));
};
const restoreLatest = (): Promise<number> => restore(directory.path, { into: "local" }, AbortSignal.abort());

it("finds nothing in a whole archive", async () => {
  expect((await catalogOf()).damaged).toEqual([]);
  expect(await printBackups(directory.path, {}, never)).toBe(0);
});

it.each(["0000000000000101.json", "0000000000000101.aof"])("refuses the last time without %s", async (name) => {
  remove(name);
  const catalog = await catalogOf();
  expect(catalog.damaged.map(({ text }) => text)).toEqual([expect.stringContaining(`the file ${name} is missing`)]);
  expect(catalog.periods[0]?.spans.at(-1)?.to).toBe(101_000);
  expect(await printBackups(directory.path, {}, never)).toBe(1);
  await expect(restoreLatest()).rejects.toThrow(/damaged data after 1970-01-01T00:01:41\.000Z.*--at/);
});

it.each(["base.json", "base.rdb"])("names a set that lacks %s", async (name) => {
  remove(name);
  expect((await catalogOf()).damaged.map(({ text }) => text)).toEqual([expect.stringContaining(`${name} is missing`)]);
  expect(await printBackups(directory.path, {}, never)).toBe(1);
  await expect(restoreLatest()).rejects.toThrow(/no set can be restored yet[\s\S]*DAMAGED/);
});

it("restores the last time when only an older set is damaged", async () => {
  remove("0000000000000101.json");
  const store = new DirectoryStore(directory.path);
  const period = await beginPeriod(store, {
    startedAt: 200_000,
    shards: [{ name: "shard-0", slots: undefined }],
    databases: 16,
  });
  const writer = new ArchiveWriter(shardStore(store, period, "shard-0"));
  await writeBase(writer, 201_000);
  await writer.write({
    event: { kind: "commands", offset: 101, database: undefined, at: 300_000 },
    bytes: Buffer.from("x"),
  });
  await writer.close();
  const catalog = await catalogOf();
  const chosen = chooseRestore(catalog, undefined);
  if (typeof chosen === "string") throw new Error(chosen);
  expect(catalog.damaged).toHaveLength(1);
  expect(newerDamage(catalog, await readRestore(chosen))).toEqual([]);
});

it("names a period that lacks its manifest", async () => {
  rmSync(join(set, "../../period.json"));
  expect((await catalogOf()).damaged).toEqual([
    { text: "19700101T000000000Z: the manifest of the period is missing", period: "19700101T000000000Z" },
  ]);
});
