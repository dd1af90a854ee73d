import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { Spool, SpoolFull } from "../../../backup/replication-stream/spool";
import { useDirectory } from "../../support/directory";

const directory = useDirectory();

it("gives frames back in order, to a consumer that is faster or slower, and leaves no file for a kill to leave behind", async () => {
  const spool = new Spool<number>(directory.path, 300 * 1024 ** 2);
  const big = Buffer.alloc(33 * 1024 ** 2, 7);
  const early = spool.take();
  await spool.push(0, Buffer.from("first"));
  expect(await early).toEqual({ frame: 0, bytes: Buffer.from("first") });
  await Promise.all([1, 2, 3, 4, 5].map((frame) => spool.push(frame, big)));
  expect(spool.waiting).toBe(5 * big.length);
  expect(readdirSync(directory.path)).toEqual([]);
  for (const frame of [1, 2, 3, 4, 5]) {
    const taken = await spool.take();
    expect(taken?.frame).toBe(frame);
    expect(taken?.bytes.equals(big)).toBe(true);
  }
  spool.end();
  expect(await spool.take()).toBeUndefined();
  await spool.close();
  expect(readdirSync(directory.path)).toEqual([]);
});

it("refuses what exceeds the limit, and gives its error after the frames that fit", async () => {
  const spool = new Spool<number>(directory.path, 10);
  await spool.push(1, Buffer.alloc(6));
  await expect(spool.push(2, Buffer.alloc(6))).rejects.toThrow(SpoolFull);
  spool.end(new Error("the reason"));
  expect((await spool.take())?.frame).toBe(1);
  await expect(spool.take()).rejects.toThrow("the reason");
  await spool.close();
});
