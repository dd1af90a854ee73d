/** Sets that somebody else has written to an archive, with commands that a server would execute. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { materialize, REPLICATED, REPLICATED_SUBCOMMANDS } from "../../../backup/archive/materialize";
import type { ArchiveSet } from "../../../backup/archive/manifests";
import { readSet } from "../../../backup/archive/sets";
import { DirectoryStore, folderOf } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { archiveFolder, archiveOnce } from "../../support/valkey/archived-deployment";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode } from "../../support/valkey/real";

const sandbox = useSandbox();
let shop: Deployment;
let store: DirectoryStore;
let folder: string;
let honest: ArchiveSet;
let number = 0;
beforeAll(async () => {
  shop = await sandbox.replication("shop", 0);
  await withNode(shop, 0, (node) => node.set("key", "value"));
  const archive = archiveFolder(sandbox);
  const [shard] = (await archiveOnce(shop, archive)).shards;
  if (shard === undefined) throw new Error("there is no shard");
  const period = readdirSync(archive).find((name) => /^\d{8}T/.test(name)) ?? "";
  folder = join(period, "shard-0", shard.set.name);
  store = new DirectoryStore(archive);
  honest = await readSet(folderOf(store, join(period, "shard-0")), shard.set.name);
}, 120_000);

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const encode = (words: readonly string[]): Buffer =>
  Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`);

async function restoreForged(...commands: readonly (readonly string[])[]): Promise<void> {
  const bytes = Buffer.concat(commands.map(encode));
  const { replid, offset } = honest.base;
  const name = `${folder}-forged-${number}`;
  await store.put(`${name}/base.rdb`, [readFileSync(join(store.path, folder, "base.rdb"))]);
  await store.put(`${name}/${String(offset).padStart(16, "0")}.aof`, [bytes]);
  const to = offset + bytes.length;
  const facts = { version: 1 as const, size: bytes.length, sha256: sha256(bytes), replid };
  const instants: [number, number][] = [[1, to]];
  const increments = [{ ...facts, from: offset, to, databaseBefore: 0, database: 0, instants }];
  const directory = join(sandbox.host.run.path, `forged-${number++}`);
  await materialize(store, { ...honest, name, increments }, { at: 1, offset: to }, directory);
}

it.each([
  [["CONFIG", "SET", "maxmemory", "1"]],
  [["config", "set", "dir", "/"]],
  [["SHUTDOWN", "NOSAVE"]],
  [["MODULE", "LOAD", "/tmp/x.so"]],
  [["SCRIPT", "FLUSH"]],
  [["EVAL", "return 1", "0"]],
  [["FCALL", "f", "0"]],
  [["FUNCTION", "KILL"]],
  [["ACL", "SETUSER", "x", "on"]],
  [["DEBUG", "SEGFAULT"]],
  [["REPLICAOF", "10.0.0.1", "6379"]],
  [["MIGRATE", "10.0.0.1", "6379", "key", "0", "100"]],
  [["CLUSTER", "MEET", "10.0.0.1", "6379"]],
  [["SAVE"]],
])("refuses %j, and names it", async (command) => {
  const name = command.slice(0, 2).join(" ").toUpperCase();
  await expect(restoreForged(["SET", "a", "b"], command)).rejects.toThrow(
    new RegExp(`the archived commands contain ${name.replaceAll(/[/.]/g, ".").slice(0, 30)}`),
  );
  await expect(restoreForged(["MULTI"], command, ["EXEC"])).rejects.toThrow("which servers do not send");
});

it("refuses anything but whole commands, and commands behind the end of the RDB file", async () => {
  const rdb = Buffer.concat([
    readFileSync(join(store.path, folder, "base.rdb")),
    encode(["CONFIG", "SET", "maxmemory", "1"]),
  ]);
  const name = `${folder}-tail`;
  await store.put(`${name}/base.rdb`, [rdb]);
  const base = { ...honest.base, size: rdb.length, sha256: sha256(rdb) };
  const restored = materialize(
    store,
    { name, base, increments: [] },
    { at: 0, offset: base.offset },
    join(sandbox.host.run.path, "tail"),
  );
  await expect(restored).rejects.toThrow(/base.rdb: RDB at byte \d+: bytes follow the end of the file/);
  const inline = join(store.path, `${folder}-inline`);
  await store.put(`${folder}-inline/base.rdb`, [readFileSync(join(store.path, folder, "base.rdb"))]);
  const bytes = Buffer.from("CONFIG SET maxmemory 1\r\n");
  const { offset, replid } = honest.base;
  writeFileSync(join(inline, `${String(offset).padStart(16, "0")}.aof`), bytes);
  const to = offset + bytes.length;
  const facts = { version: 1 as const, size: bytes.length, sha256: sha256(bytes), replid };
  const increments = [{ ...facts, from: offset, to, databaseBefore: 0, database: 0, instants: [] }];
  await expect(
    materialize(
      store,
      { ...honest, name: `${folder}-inline`, increments },
      { at: 0, offset: to },
      join(sandbox.host.run.path, "inline"),
    ),
  ).rejects.toThrow("does not begin a command");
});

it("knows every command of the server that changes data", async () => {
  await withNode(shop, 0, async (node) => {
    type Info = readonly [name: string, arity: number, flags: readonly string[], ...rest: unknown[]];
    const commands = (await node.call("COMMAND")) as Info[];
    const writes = (infos: readonly Info[]): string[] =>
      infos.filter(([, , flags]) => flags.includes("write")).map(([name]) => name.toUpperCase());
    expect(writes(commands).filter((name) => !REPLICATED.has(name))).toEqual(["MIGRATE"]);
    const unknown = commands.flatMap((each) =>
      writes((each[9] ?? []) as Info[]).filter((full) => {
        const [name = "", subcommand = ""] = full.split("|");
        return REPLICATED_SUBCOMMANDS.get(name)?.has(subcommand) !== true;
      }),
    );
    expect(unknown).toEqual([]);
  });
});
