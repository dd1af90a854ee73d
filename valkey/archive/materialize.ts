/**
 * Makes a server's data directory from an archived set, with the data as of a chosen time. A server with `appendonly
 * yes` loads this directory.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import { RdbWalker } from "../rdb/walker";
import type { ArchiveSet, IncrementManifest } from "./manifests";
import { BASE_FILE, incrementFile } from "./manifests";
import type { ArchiveStore, PendingFile } from "./store";
import { ReplicatedCommands } from "../replication-stream/replicated-commands";
import { DirectoryStore, pathExists } from "./store";

/** Directory and file names with the servers' default settings `appenddirname` and `appendfilename`. */
export const APPEND_DIRECTORY = "appendonlydir";
const APPEND_FILE = "appendonly.aof";
const [BASE, INCREMENT] = [`${APPEND_FILE}.1.base.rdb`, `${APPEND_FILE}.1.incr.aof`];

/** State that a restore makes: its time, and the last archived command that is executed. */
export interface RestorePoint {
  /**
   * Time of the state, milliseconds since the epoch: the last recorded instant that is not after the requested time.
   */
  readonly at: number;
  /** Offset in the replication stream up to which archived commands are executed. */
  readonly offset: number;
}

type Instants = IncrementManifest["instants"];

/** Longest time between two instants of an archive that follows a server whose data change, milliseconds. */
const MAX_GAP_MS = 5_000;

/**
 * Divides instants where the archive did not follow the server (between two that have different offsets and are far
 * apart), and where the clock was set back. Pure.
 * @param instants in the order of the stream
 * @returns instants of ascending times
 */
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

/**
 * Finds the last instant of a set that is not after `at`. At an instant, no transaction is half executed. If a clock was
 * set back, a set can have a time twice, and the later one counts.
 * @param at milliseconds since the epoch
 * @param last offset of the last instant that counts. @default all instants count
 * @throws BadInput if the archive did not follow the server at this time. The message has the nearest instants
 */
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

/**
 * Writes a data directory from a set, with the data as of `point`.
 * @param directory data directory of a server that does not run. It must not contain an append-only file
 * @throws Failure if the directory has an append-only file, if a file of the set is damaged, or if the set has anything
 * but an RDB file and commands that servers send to their replicas. The server's manifest is written last, so a server
 * does not load an incomplete directory
 */
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

/** A server's data directory whose RDB file is being written. */
export interface PendingDataDirectory {
  /** RDB file to which the caller writes. */
  readonly base: PendingFile;
  /** Completes the directory. A server with `appendonly yes` then loads the RDB file. */
  commit(): Promise<void>;
}

/**
 * Begins a data directory that contains only an RDB file and no commands.
 * @param directory data directory of a server that does not run
 * @throws Failure if the directory has an append-only file
 */
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

/**
 * Encodes the command SELECT for the database of the first archived command. Empty for database 0, because a server
 * begins each file of commands with database 0. Pure.
 */
function selectCommand(database: number): Buffer {
  const digits = String(database);
  return Buffer.from(database === 0 ? "" : `*2\r\n$6\r\nSELECT\r\n$${digits.length}\r\n${digits}\r\n`);
}

/** Reads the bytes of a file, and throws if the file has anything that it must not have. */
interface FileCheck {
  push(bytes: Buffer): unknown;
  finish(): unknown;
}

/**
 * Copies the first `limit` bytes of a file of the set.
 * @throws Failure if the checksum of the whole file is wrong, or if the check refuses the bytes
 */
async function copyChecked(
  store: ArchiveStore,
  name: string,
  expected: { readonly size: number; readonly sha256: string },
  output: PendingFile,
  check: FileCheck,
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
