/** Files and folders of an archive on a disk. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { identifyProcess } from "../../../lib/system/process-identity";
import type { Lease } from "../../../backup/archive/lease";
import { DirectoryStore, folderOf } from "../../../backup/archive/store";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

it("removes unfinished files of one folder only, and lets only its user read", async () => {
  const store = new DirectoryStore(join(directory.path, "archive"));
  await (await store.create("a/set/done")).commit();
  await (await store.create("a/set/open")).write(Buffer.from("x"));
  await (await store.create("b/open")).write(Buffer.from("x"));
  const mode = (name: string): number => statSync(join(directory.path, "archive", name)).mode & 0o777;
  expect([mode(""), mode("a/set"), mode("a/set/done"), mode("b/open.part")]).toEqual([0o700, 0o700, 0o600, 0o600]);
  await folderOf(store, "a").removePending("");
  await store.removePending("missing");
  expect(readdirSync(join(store.path, "a/set"))).toEqual(["done"]);
  expect(existsSync(join(store.path, "b/open.part"))).toBe(true);
  await store.removePending("");
  expect(readdirSync(join(store.path, "b"))).toEqual([]);
  expect(readdirSync(join(store.path, "a/set"))).toEqual(["done"]);
});

const TIMES = { ttlMs: 1_000, renewMs: 100, settleMs: 100 };
const take = (store: DirectoryStore): Promise<Lease | undefined> => store.lease(new AbortController().signal, TIMES);
/** Writes the lease of a process in a different container, whose process IDs mean nothing here. */
function writeOther(renewals: number): void {
  writeLease({ id: "other", host: "container", space: "pid:[1]", process: { pid: 1, started: "boot/1" }, renewals });
}
const writeLease = (holder: object): void => {
  writeFileSync(join(directory.path, ".lease.json"), JSON.stringify(holder));
};

it("gives the lease of a folder to one process at a time", async () => {
  const store = new DirectoryStore(directory.path);
  const taken = (await Promise.all([take(store), take(store), take(store)])).filter((each) => each !== undefined);
  expect(taken).toHaveLength(1);
  expect(await take(store)).toBeUndefined();
  await taken[0]?.release();
  const next = await take(store);
  expect(next).toBeDefined();
  await next?.release();
  expect(readdirSync(directory.path)).toEqual([]);
});

it("respects the lease of a process in a different container until the process no longer renews it", async () => {
  const store = new DirectoryStore(directory.path);
  writeOther(0);
  let renewals = 0;
  const renewing = setInterval(() => {
    writeOther(++renewals);
  }, 100);
  expect(await take(store)).toBeUndefined();
  clearInterval(renewing);
  const began = performance.now();
  const lease = await take(store);
  expect(lease).toBeDefined();
  expect(performance.now() - began).toBeGreaterThan(TIMES.ttlMs);
  // It has been frozen for so long that its lease has ended, and goes on.
  writeOther(++renewals);
  await new Promise((resolve) => lease?.lost.addEventListener("abort", resolve));
  expect(String(lease?.lost.reason)).toContain(`${directory.path}: a different process has taken over the archive`);
});

it("takes over at once from a process of this machine that was killed", async () => {
  const holder = spawn("sleep", ["100"], { stdio: "ignore" });
  const killed = once(holder, "exit");
  await once(holder, "spawn");
  const space = readlinkSync("/proc/self/ns/pid");
  writeLease({ id: "killed", host: hostname(), space, process: identifyProcess(holder.pid ?? 0), renewals: 0 });
  const store = new DirectoryStore(directory.path);
  expect(await take(store)).toBeUndefined();
  holder.kill("SIGKILL");
  await killed;
  const began = performance.now();
  const lease = await take(store);
  expect(lease).toBeDefined();
  expect(performance.now() - began).toBeLessThan(TIMES.ttlMs);
  await lease?.release();
});
