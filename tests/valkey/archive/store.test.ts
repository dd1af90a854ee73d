/** Files and folders of an archive on a disk. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DirectoryStore, folderOf } from "../../../valkey/archive/store";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "store-test-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

it("removes unfinished files of one folder only, and lets only its user read", async () => {
  const store = new DirectoryStore(join(directory, "archive"));
  await (await store.create("a/set/done")).commit();
  await (await store.create("a/set/open")).write(Buffer.from("x"));
  await (await store.create("b/open")).write(Buffer.from("x"));
  const mode = (name: string): number => statSync(join(directory, "archive", name)).mode & 0o777;
  expect([mode(""), mode("a/set"), mode("a/set/done"), mode("b/open.part")]).toEqual([0o700, 0o700, 0o600, 0o600]);
  await folderOf(store, "a").removePending("");
  await store.removePending("missing");
  expect(readdirSync(join(store.path, "a/set"))).toEqual(["done"]);
  expect(existsSync(join(store.path, "b/open.part"))).toBe(true);
  await store.removePending("");
  expect(readdirSync(join(store.path, "b"))).toEqual([]);
  expect(readdirSync(join(store.path, "a/set"))).toEqual(["done"]);
});
