/** Contents of an archive after a write that failed. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ArchiveWriter, resumePoint } from "../../../valkey/archive/archive-writer";
import { listSets, readSet } from "../../../valkey/archive/sets";
import { fillingStore } from "../../support/valkey/filling-store";
import { commands, REPLID, writeBase } from "../../support/valkey/archived-items";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "archive-writer-test-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

it("ends after its last whole increment when a write fails, and continues there", async () => {
  let isFull = false;
  const store = fillingStore(directory, () => isFull);
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
  expect(readdirSync(join(directory, name)).filter((each) => each.endsWith(".part"))).toEqual([]);
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
  const store = fillingStore(directory, () => isFull);
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
  expect(readdirSync(join(directory, name)).filter((each) => each.endsWith(".part"))).toEqual([]);
});
