/** A bucket of a real S3 server as the place of an archive. */
import { setMaxListeners } from "node:events";
import { expect, it } from "vitest";
import { ArchiveWriter } from "../../../backup/archive/archive-writer";
import { BucketStore, LeaseObject } from "../../../backup/archive/bucket/bucket-store";
import type { BucketLocation } from "../../../backup/archive/bucket/location";
import { Requests } from "../../../backup/archive/bucket/requests";
import { partSize } from "../../../backup/archive/bucket/upload";
import { takeLease } from "../../../backup/archive/lease";
import { deleteSet, listSets, readSet } from "../../../backup/archive/sets";
import { folderOf } from "../../../backup/archive/store";
import { commands, writeBase } from "../../support/valkey/archived-items";
import { useS3 } from "../../support/valkey/hooks";
import { BUCKET } from "../../support/valkey/s3-server";
import { eventually, never } from "../../support/valkey/real";

const s3 = useS3();
const signal = new AbortController().signal;
setMaxListeners(0, signal);
const location = (bucket = BUCKET): BucketLocation => ({
  bucket,
  prefix: "shop/eu",
  endpoint: s3.server.endpoint,
  region: undefined,
  encryption: { kind: "none" },
  pathStyle: true,
});
const readAll = async (pieces: AsyncIterable<Buffer>): Promise<Buffer> => {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
};

it("has small files, files in parts and folders, and removes the last file last", async () => {
  const store = await BucketStore.open(location(), signal);
  await store.put("p/a.json", [Buffer.from("a"), Buffer.from("b")]);
  const large = await store.create("p/set/base.rdb");
  const piece = Buffer.alloc(3 * 1024 ** 2 + 1, "x");
  for (let index = 0; index < 7; index++) await large.write(piece);
  expect(await store.list("p")).toEqual(["a.json"]);
  await large.commit();
  const dropped = await store.create("p/set/dropped");
  for (let index = 0; index < 3; index++) await dropped.write(piece);
  await dropped.discard();
  expect(await store.list("p")).toEqual(["a.json", "set"]);
  expect(await store.list("p/set")).toEqual(["base.rdb"]);
  expect((await readAll(store.read("p/a.json"))).toString()).toBe("ab");
  expect((await readAll(store.read("p/set/base.rdb"))).equals(Buffer.alloc(7 * piece.length, "x"))).toBe(true);
  expect(s3.server.requests.filter((each) => /^DELETE .*uploadId=/.test(each))).toHaveLength(1);
  await store.put("p/set/zz", []);
  await store.removePending("p");
  s3.server.requests.length = 0;
  await store.removeFolder("p/set", "base.rdb", never);
  const removed = s3.server.requests.filter((each) => each.startsWith("DELETE")).map((each) => each.split("?")[0]);
  expect(removed.slice(0, 2).map((each) => each?.split("/").at(-1))).toEqual(["zz", "base.rdb"]);
  expect(await store.list("p")).toEqual(["a.json"]);
});

it("sends a large file in at most 10,000 parts", () => {
  expect(partSize()).toBe(8 * 1024 ** 2);
  for (const expected of [1, 10 ** 9, 10 ** 11, 10 ** 12])
    expect((2 * expected) / partSize(expected)).toBeLessThanOrEqual(10_000);
});

it("lists more names than one reply has", async () => {
  const store = await BucketStore.open(location(), signal, { pageSize: 7 });
  const names = Array.from({ length: 20 }, (_, index) => `file-${10 + index}`);
  await Promise.all(names.map((name) => store.put(`many/${name}`, [])));
  expect(await store.list("many")).toEqual(names);
});

it("keeps an increment and its manifest as one object, and hides a set that is deleted", async () => {
  const store = folderOf(await BucketStore.open(location(), signal), "period/shard-0");
  const writer = new ArchiveWriter(store, { incrementMs: 0 });
  await writeBase(writer);
  await writer.write({ event: { kind: "quiet", at: 100_500 }, bytes: Buffer.alloc(0) });
  for (const offset of [101, 102, 103]) await writer.write(commands(offset, "x"));
  await writer.close();
  const [name = "none"] = await listSets(store);
  const set = await readSet(store, name);
  expect(await store.list(name)).toHaveLength(5);
  expect(set.damage).toBeUndefined();
  expect(set.increments.map(({ from, to, instants }) => [from, to, instants])).toEqual([
    [
      100,
      101,
      [
        [100_500, 100],
        [101_000, 101],
      ],
    ],
    [101, 102, [[102_000, 102]]],
    [102, 103, [[103_000, 103]]],
  ]);
  const [, second] = set.increments;
  expect((await readAll(store.read(`${name}/${second?.file ?? ""}`))).toString()).toBe("x");
  await store.remove(`${name}/${second?.file ?? ""}`);
  expect((await readSet(store, name)).damage).toBe("the increment after offset 101 is missing");
  await deleteSet(store, name, never);
  expect(await listSets(store)).toEqual([]);
  expect(await store.list("")).toEqual([]);
});

it("waits for a bucket that is away, and does not wait for one that refuses", async () => {
  const store = await BucketStore.open(location(), signal);
  await s3.server.goAway();
  const written = store.put("late", [Buffer.from("x")]);
  setTimeout(() => void s3.server.comeBack(), 1_500);
  await written;
  expect(await store.list("")).toEqual(["late"]);
  s3.server.refusal = "ExpiredToken";
  await expect(store.put("refused", [])).rejects.toThrow("s3://backups/shop/eu: the credentials have expired");
  s3.server.refusal = "AccessDenied";
  await expect(BucketStore.open(location(), signal)).rejects.toThrow("access is denied; a restore needs s3:ListBucket");
  s3.server.refusal = undefined;
  await expect(BucketStore.open(location("missing"), signal)).rejects.toThrow("the bucket does not exist");
});

it.each([true, false])("gives the lease to one process at a time (conditional writes: %s)", async (hasConditions) => {
  s3.server.hasConditions = hasConditions;
  const times = { ttlMs: 1_500, renewMs: 200, settleMs: 200 };
  const take = (): ReturnType<typeof takeLease> =>
    takeLease(new LeaseObject(new Requests(location(), signal, () => undefined), "shop/eu/.lease.json"), signal, times);
  const both = await Promise.all([take(), take()]);
  const [first, none] = both[0] === undefined ? [both[1], both[0]] : both;
  expect(first).toBeDefined();
  expect(none).toBeUndefined();
  expect(await take()).toBeUndefined();
  await first?.release();
  const second = await take();
  expect(second).toBeDefined();
  // A process of a different machine replaces the object.
  const store = await BucketStore.open(location(), signal);
  await store.put(".lease.json", [Buffer.from(JSON.stringify({ id: "other", host: "elsewhere", renewals: 1 }))]);
  await eventually("the lease is lost", () => second?.lost.aborted === true, 60_000);
  expect(String(second?.lost.reason)).toContain("a different process has taken over");
  // The other process does not renew its lease.
  let third: Awaited<ReturnType<typeof take>>;
  await eventually("the lease has ended", async () => (third = await take()) !== undefined, 60_000);
  await third?.release();
});
