/** Makes a data directory, which a server with `appendonly yes` loads, from an archived set as of a chosen time. */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import { RdbWalker } from "../rdb/walker";
import { type ArchiveSet, type IncrementManifest, BASE_FILE, incrementFile } from "./manifests";
import { type ArchiveStore, type PendingFile, DirectoryStore, pathExists } from "./store";
import { CommandParser } from "../replication-stream/command-parser";

/** Write commands of Valkey 9.1, besides MIGRATE, which connects to a different server and is sent to replicas as DEL. */
const WRITES =
  "APPEND BITFIELD BITOP BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN COPY DECR DECRBY DEL DELIFEQ " +
  "EXPIRE EXPIREAT FLUSHALL FLUSHDB GEOADD GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE GETDEL GETEX GETSET HDEL HEXPIRE " +
  "HEXPIREAT HGETDEL HGETEX HINCRBY HINCRBYFLOAT HMSET HPERSIST HPEXPIRE HPEXPIREAT HSET HSETEX HSETNX INCR INCRBY " +
  "INCRBYFLOAT LINSERT LMOVE LMPOP LPOP LPUSH LPUSHX LREM LSET LTRIM MOVE MSET MSETEX MSETNX PERSIST PEXPIRE PEXPIREAT " +
  "PFADD PFDEBUG PFMERGE PSETEX RENAME RENAMENX RESTORE RESTORE-ASKING RPOP RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET " +
  "SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SORT SPOP SREM SUNIONSTORE SWAPDB UNLINK XACK XADD XAUTOCLAIM XCLAIM " +
  "XDEL XREADGROUP XSETID XTRIM ZADD ZDIFFSTORE ZINCRBY ZINTERSTORE ZMPOP ZPOPMAX ZPOPMIN ZRANGESTORE ZREM " +
  "ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE";
/** Other commands that a primary sends: it selects databases, begins transactions, and passes messages on. */
const OTHERS = "EXEC MULTI PFCOUNT PING PUBLISH SELECT SPUBLISH";

export const REPLICATED: ReadonlySet<string> = new Set(`${WRITES} ${OTHERS}`.split(" "));
export const REPLICATED_SUBCOMMANDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["CLUSTER", new Set(["FLUSHSLOT", "SYNCSLOTS"])],
  ["FUNCTION", new Set(["DELETE", "FLUSH", "LOAD", "RESTORE"])],
  ["REPLCONF", new Set(["GETACK"])],
  ["XGROUP", new Set(["CREATE", "CREATECONSUMER", "DELCONSUMER", "DESTROY", "SETID"])],
]);
const NAME_CHARACTERS = 40;

const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, NAME_CHARACTERS);

export const APPEND_DIRECTORY = "appendonlydir";
const APPEND_FILE = "appendonly.aof";
const [BASE, INCREMENT] = [`${APPEND_FILE}.1.base.rdb`, `${APPEND_FILE}.1.incr.aof`];

export interface RestorePoint {
  /** Milliseconds since the epoch: the last recorded instant that is not after the requested time. */
  readonly at: number;
  readonly offset: number;
}

type Instants = IncrementManifest["instants"];

/** Longest time between two instants of an archive that follows a server whose data change, milliseconds. */
const MAX_GAP_MS = 5_000;

/** Divides instants that are far apart with different offsets, and where the clock was set back. Ascending times. */
export function followedInstants(instants: Instants): Instants[] {
  const spans: Instants[] = [];
  let last: Instants[number] | undefined;
  for (const instant of instants) {
    const [time, offset] = instant;
    const elapsed = time - (last?.[0] ?? Infinity);
    const follows = elapsed >= 0 && (offset === last?.[1] || elapsed <= MAX_GAP_MS);
    if (follows) spans.at(-1)?.push(instant);
    else spans.push([instant]);
    last = instant;
  }
  return spans;
}

/** At an instant, no transaction is half executed. Of a time that exists twice, the later counts. @throws BadInput */
export function restorePoint(
  { name, increments }: Pick<ArchiveSet, "name" | "increments">,
  at: number,
  last = Infinity,
): RestorePoint {
  const instants = increments.flatMap((increment) => increment.instants).filter(([, offset]) => offset <= last);
  const span = followedInstants(instants).findLast((each) => (each[0]?.[0] ?? Infinity) <= at && at <= endOf(each));
  const found = span?.findLast(([time]) => time <= at);
  if (found !== undefined) return { at: found[0], offset: found[1] };
  const subject = `set ${name}`;
  if (instants.length === 0) throw BadInput.of(subject, "no-instant", "the set has no instant yet");
  const text = (time: number): string => new Date(time).toISOString();
  const before = highest(instants.filter(([time]) => time < at));
  const after = instants.reduce((least, [time]) => (time > at ? Math.min(least, time) : least), Infinity);
  if (before === -Infinity)
    throw BadInput.of(subject, "before-first-instant", `${text(at)} is before its first instant, ${text(after)}`);
  if (after === Infinity)
    throw BadInput.of(subject, "after-last-instant", `${text(at)} is after its last instant, ${text(before)}`);
  throw BadInput.of(
    subject,
    "between-instants",
    `${text(at)} is between its instants ${text(before)} and ${text(after)}`,
  );
}

const endOf = (instants: Instants): number => instants.at(-1)?.[0] ?? -Infinity;
const highest = (instants: Instants): number => instants.reduce((most, [time]) => Math.max(most, time), -Infinity);

/** The server's manifest is written last: servers load no incomplete one. @throws Failure for damaged files */
export async function materialize(
  store: ArchiveStore,
  set: ArchiveSet,
  point: RestorePoint,
  directory: string,
): Promise<void> {
  const path = await makeAppendDirectory(directory);
  const target = new DirectoryStore(path);
  const baseFile = await target.create(BASE);
  // A server executes commands that follow in the same file.
  await copyChecked(store, `${set.name}/${BASE_FILE}`, set.base, baseFile, new RdbWalker({}));
  await baseFile.commit();
  const commands = new ReplicatedCommands();
  const incrementOutput = await target.create(INCREMENT);
  await incrementOutput.write(selectCommand(set.base.database));
  for (const each of set.increments.filter(({ from }) => from < point.offset))
    await copyChecked(
      store,
      `${set.name}/${incrementFile(each.from)}`,
      each,
      incrementOutput,
      commands,
      point.offset - each.from,
    );
  await incrementOutput.commit();
  await writeServerManifest(target, [`file ${BASE} seq 1 type b`, `file ${INCREMENT} seq 1 type i`]);
}

export interface PendingDataDirectory {
  readonly base: PendingFile;
  commit(): Promise<void>;
}

export async function beginDataDirectory(directory: string): Promise<PendingDataDirectory> {
  const target = new DirectoryStore(await makeAppendDirectory(directory));
  const base = await target.create(BASE);
  return {
    base,
    commit: async () => {
      await base.commit();
      await writeServerManifest(target, [`file ${BASE} seq 1 type b`]);
    },
  };
}

async function makeAppendDirectory(directory: string): Promise<string> {
  const path = join(directory, APPEND_DIRECTORY);
  if (await pathExists(path)) throw new Failure(`${path} exists already; restore into an empty directory`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

async function writeServerManifest(target: ArchiveStore, lines: readonly string[]): Promise<void> {
  const manifest = await target.create(`${APPEND_FILE}.manifest`);
  await manifest.write(Buffer.from(`${lines.join("\n")}\n`));
  await manifest.commit();
}

/** Empty for database 0, because a server begins each file of commands with database 0. */
function selectCommand(database: number): Buffer {
  const digits = String(database);
  return Buffer.from(database === 0 ? "" : `*2\r\n$6\r\nSELECT\r\n$${digits.length}\r\n${digits}\r\n`);
}

/** @throws Failure if the checksum of the whole file is wrong, or if the check refuses the bytes */
async function copyChecked(
  store: ArchiveStore,
  name: string,
  expected: { readonly size: number; readonly sha256: string },
  output: PendingFile,
  check: { push(bytes: Buffer): unknown; finish(): unknown },
  limit = expected.size,
): Promise<void> {
  const hash = createHash("sha256");
  let copied = 0;
  let refusal: string | undefined;
  const examine = (work: () => unknown): void => {
    try {
      if (refusal === undefined) work();
    } catch (error) {
      refusal = `${name}: ${messageOf(error)}`;
    }
  };
  for await (const piece of store.read(name)) {
    hash.update(piece);
    const wanted = piece.subarray(0, Math.max(0, limit - copied));
    examine(() => check.push(wanted));
    if (wanted.length > 0 && refusal === undefined) await output.write(wanted);
    copied += piece.length;
  }
  examine(() => check.finish());
  if (copied !== expected.size || hash.digest("hex") !== expected.sha256)
    refusal = `${name} is damaged: its checksum is not that of its manifest`;
  if (refusal === undefined) return;
  await output.discard();
  throw new Failure(refusal);
}

/** Servers execute any command of such a file without rights, and whoever writes to a bucket can write one. */
class ReplicatedCommands {
  readonly #parser = new CommandParser();

  /** @throws Failure that names the command, if no primary sends it; StreamCorrupt for anything but commands */
  push(bytes: Buffer): void {
    for (const { name, words } of this.#parser.push(bytes)) {
      if (REPLICATED.has(name)) continue;
      const subcommand = words[1]?.toString("latin1").toUpperCase() ?? "";
      if (REPLICATED_SUBCOMMANDS.get(name)?.has(subcommand) === true) continue;
      const full = printable(`${name} ${subcommand}`.trim());
      throw new Failure(
        `the archived commands contain ${full}, which servers do not send to their replicas; somebody else wrote it, or ` +
          "a server that is newer than this program; nothing of the set is loaded",
      );
    }
  }

  /** @throws Failure if the bytes so far end in the middle of a command */
  finish(): void {
    if (this.#parser.waiting > 0) throw new Failure("the archived commands end in the middle of a command");
  }
}
