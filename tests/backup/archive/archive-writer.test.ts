/** Contents of an archive after a write that failed. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ArchiveWriter, resumePoint } from "../../../backup/archive/archive-writer";
import { listSets, readSet } from "../../../backup/archive/sets";
import { fillingStore } from "../../support/valkey/filling-store";
import { commands, REPLID, writeBase } from "../../support/valkey/archived-items";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

it("ends after its last whole increment when a write fails, and continues there", async () => {
  let isFull = false;
  const store = fillingStore(directory.path, () => isFull);
  const writer = new ArchiveWriter(store, { incrementMs: 0 });
  await writeBase(writer);
  await writer.write(commands(110, "0123456789"));
  isFull = true;
  await expect(writer.write(commands(120, "abcdefghij"))).rejects.toThrow("ENOSPC");
  isFull = false;
  await writer.close();
  const [name = "none"] = await listSets(store);
  const set = await readSet(store, name);
  expect(set.increments.map(({ from, to }) => [from, to])).toEqual([[100, 110]]);
  expect(resumePoint(set)).toEqual({ position: { replid: REPLID, offset: 110 }, database: 3 });
  expect(readdirSync(join(directory.path, name)).filter((each) => each.endsWith(".part"))).toEqual([]);
  const resumed = new ArchiveWriter(store, {}, set);
  await resumed.write(commands(115, "abcde"));
  await resumed.close();
  expect((await readSet(store, name)).increments.map(({ from, to }) => [from, to])).toEqual([
    [100, 110],
    [110, 115],
  ]);
});

it("writes nothing after an increment whose manifest could not be written", async () => {
  let isFull = false;
  const store = fillingStore(directory.path, () => isFull);
  const writer = new ArchiveWriter(store, { incrementMs: 10 ** 6 });
  await writeBase(writer);
  await writer.write(commands(110, "0123456789"));
  isFull = true;
  await expect(writer.close()).rejects.toThrow("ENOSPC");
  isFull = false;
  await expect(writer.write(commands(120, "abcdefghij"))).rejects.toThrow("no set can take these commands");
  await writer.close();
  const [name = "none"] = await listSets(store);
  expect((await readSet(store, name)).increments).toEqual([]);
  expect(readdirSync(join(directory.path, name)).filter((each) => each.endsWith(".part"))).toEqual([]);
});

it("names sets in the order in which they were written, also after the clock was set back", async () => {
  const store = fillingStore(directory.path, () => false);
  const writer = new ArchiveWriter(store);
  for (const at of [5_000, 5_000, 1_000]) await writeBase(writer, at);
  await writer.close();
  const names = await listSets(store);
  expect(names).toEqual(["19700101T000005000Z-100", "19700101T000005001Z-100", "19700101T000005002Z-100"]);
  const sets = await Promise.all(names.map((name) => readSet(store, name)));
  expect(sets.map(({ base }) => base.startedAt)).toEqual([5_000, 5_000, 1_000]);
});

it("records that no command arrives, also after the clock was set back", async () => {
  const store = fillingStore(directory.path, () => false);
  const safe: number[] = [];
  const quiet = async (at: number): Promise<void> =>
    writer.write({ event: { kind: "quiet", at }, bytes: Buffer.alloc(0) });
  const writer = new ArchiveWriter(store, { onSafe: (at) => safe.push(at) });
  await writeBase(writer, 100);
  for (const at of [5_000, 9_000, 7_000, 1_000, 2_000]) await quiet(at);
  await writer.close();
  expect(safe).toEqual([100, 5_000, 9_000, 7_000, 1_000, 2_000]);
  const [name = "none"] = await listSets(store);
  expect((await readSet(store, name)).increments.map(({ instants }) => instants)).toEqual([
    [
      [1_000, 100],
      [2_000, 100],
    ],
  ]);
});
