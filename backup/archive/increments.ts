/** In a bucket, an increment is one object whose name contains its manifest, because each object costs a request. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Failure } from "../../lib/errors";
import { CheckedFile, writeManifest } from "./checked-file";
import type { IncrementManifest, StoredIncrement } from "./manifests";
import { incrementFile, incrementManifestFile, MANIFEST_VERSION } from "./manifests";
import type { ArchiveStore } from "./store";

/** Number of items in one turn of the event loop: a few milliseconds of work. */
const AT_ONCE = 1_000;

type Facts = Pick<IncrementManifest, "size" | "sha256">;

export interface PendingIncrement {
  readonly size: number;
  write(bytes: Buffer): Promise<void>;
  commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest | undefined>;
}

export async function beginIncrement(store: ArchiveStore, set: string, from: number): Promise<PendingIncrement> {
  if (store.hasNamedIncrements) return new NamedIncrement(store, set);
  return new IncrementPair(store, set, await CheckedFile.create(store, `${set}/${incrementFile(from)}`));
}

/** Writes a mark: a manifest without commands. It records times at which no new command had arrived. */
export async function writeMark(store: ArchiveStore, set: string, mark: IncrementManifest): Promise<void> {
  if (store.hasNamedIncrements) await store.put(`${set}/${incrementName(mark)}`, []);
  else await writeManifest(store, `${set}/${incrementManifestFile(mark.from)}`, mark);
}

/** In a folder, the newer manifest has the same name, so it has replaced the mark already. */
export async function removeMark(store: ArchiveStore, set: string, mark: IncrementManifest): Promise<void> {
  if (store.hasNamedIncrements) await store.remove(`${set}/${incrementName(mark)}`);
}

class IncrementPair implements PendingIncrement {
  constructor(
    private readonly store: ArchiveStore,
    private readonly set: string,
    private readonly file: CheckedFile,
  ) {}

  get size(): number {
    return this.file.size;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.file.write(bytes);
  }

  async commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest | undefined> {
    if (!this.file.isWhole) {
      await this.file.discard();
      return undefined;
    }
    const manifest = describe(await this.file.commit());
    await writeManifest(this.store, `${this.set}/${incrementManifestFile(manifest.from)}`, manifest);
    return manifest;
  }
}

/** An increment that stays in memory until `commit`, because its name contains facts that are known only then. */
class NamedIncrement implements PendingIncrement {
  readonly #hash = createHash("sha256");
  readonly #pieces: Buffer[] = [];
  #size = 0;
  #isDone = false;

  constructor(
    private readonly store: ArchiveStore,
    private readonly set: string,
  ) {}

  get size(): number {
    return this.#size;
  }

  write(bytes: Buffer): Promise<void> {
    this.#pieces.push(bytes);
    this.#hash.update(bytes);
    this.#size += bytes.length;
    return Promise.resolve();
  }

  async commit(describe: (facts: Facts) => IncrementManifest): Promise<IncrementManifest> {
    if (this.#isDone) throw new Failure("an increment cannot be written twice");
    this.#isDone = true;
    const manifest = describe({ size: this.#size, sha256: this.#hash.digest("hex") });
    await this.store.put(`${this.set}/${incrementName(manifest)}`, this.#pieces);
    return manifest;
  }
}

/** With this limit a name has at most 230 bytes: some servers store each part of a key as the name of a file. */
export const MOST_INSTANTS = 9;

/** Number of steps in a millisecond: the precision of times in a name. */
const PARTS = 1_000;
const BASE = 36;
const HEAD = /^i(\d{16,})\.([0-9a-z]+)\.([0-9a-z]+)\.([0-9a-z]+)\.([\w-]{27})([\w-]{43})((?:\.[0-9a-z]+)*)\.aof$/;

/** Each instant is the difference from the one before it. Names sort in the order of offsets, after `base.json`. */
export function incrementName(manifest: IncrementManifest): string {
  const { from, size, databaseBefore, database, replid, sha256, instants } = manifest;
  const numbers = [size, databaseBefore, database].map((each) => each.toString(BASE));
  let [lastTime, lastOffset] = [0, from];
  const differences = instants.flatMap(([time, offset]) => {
    const parts = Math.round(time * PARTS);
    const both = [parts - lastTime, offset - lastOffset].map((each) => each.toString(BASE));
    [lastTime, lastOffset] = [parts, offset];
    return both;
  });
  const hashes = [replid, sha256].map((each) => Buffer.from(each, "hex").toString("base64url")).join("");
  return `i${[String(from).padStart(16, "0"), ...numbers, hashes, ...differences].join(".")}.aof`;
}

export function parseIncrementName(name: string): IncrementManifest | undefined {
  const [, first, size = "", before = "", after = "", replid = "", sha256 = "", tail = ""] = HEAD.exec(name) ?? [];
  if (first === undefined) return undefined;
  const from = Number(first);
  const differences = tail.split(".").slice(1).map(parseNumber);
  const instants: [number, number][] = [];
  let [parts, offset] = [0, from];
  for (let index = 0; index + 1 < differences.length; index += 2) {
    parts += differences[index] ?? 0;
    offset += differences[index + 1] ?? 0;
    instants.push([parts / PARTS, offset]);
  }
  const hex = (text: string): string => Buffer.from(text, "base64url").toString("hex");
  return {
    version: MANIFEST_VERSION,
    replid: hex(replid),
    sha256: hex(sha256),
    size: parseNumber(size),
    from,
    to: from + parseNumber(size),
    databaseBefore: parseNumber(before),
    database: parseNumber(after),
    instants,
  };
}

const parseNumber = (text: string): number => Number.parseInt(text, BASE);

/** Increments repeat commands if a request of a killed process arrived late; the chain has one of them. */
export async function chainOf(
  found: readonly StoredIncrement[],
  offset: number,
): Promise<{ readonly chain: StoredIncrement[]; readonly hasLater: boolean }> {
  const at = new Map<number, StoredIncrement[]>();
  for await (const each of inTurns(found)) {
    const others = at.get(each.from);
    if (others === undefined) at.set(each.from, [each]);
    else others.push(each);
  }
  const reach = new Map<number, { readonly end: number; readonly next: StoredIncrement | undefined }>();
  for await (const from of inTurns([...at.keys()].sort((a, b) => b - a))) {
    let best: { end: number; next: StoredIncrement | undefined } = { end: from, next: undefined };
    for (const next of at.get(from) ?? []) {
      if (next.size === 0) continue;
      const end = reach.get(next.to)?.end ?? next.to;
      if (end > best.end) best = { end, next };
    }
    reach.set(from, best);
  }
  const chain: StoredIncrement[] = [];
  let next = offset;
  for await (const increment of inTurns(linksFrom(offset, reach))) {
    const marks = (at.get(next) ?? []).filter(({ size }) => size === 0);
    const quiet = spanOfMarks(marks);
    const [mark] = marks;
    if (increment === undefined) {
      if (mark !== undefined) chain.push({ ...mark, instants: quiet });
      break;
    }
    chain.push(marks.length === 0 ? increment : { ...increment, instants: merge(quiet, increment.instants) });
    next = increment.to;
  }
  return { chain, hasLater: found.some(({ from, size }) => from > next && size > 0) };
}

type Reach = ReadonlyMap<number, { readonly end: number; readonly next: StoredIncrement | undefined }>;

function* linksFrom(offset: number, reach: Reach): Generator<StoredIncrement | undefined, void, undefined> {
  for (let next = reach.get(offset)?.next; next !== undefined; next = reach.get(next.to)?.next) yield next;
  yield undefined;
}

type Instants = IncrementManifest["instants"];

function spanOfMarks(marks: readonly IncrementManifest[]): Instants {
  return marks.flatMap(({ instants }) => instants).sort(([a], [b]) => a - b);
}

function merge(quiet: Instants, instants: Instants): Instants {
  const first = instants[0]?.[0] ?? Infinity;
  return [...quiet.filter(([time]) => time < first), ...instants];
}

export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  let count = 0;
  for (const item of items) {
    if (count++ % AT_ONCE === 0) await setImmediate();
    yield item;
  }
}
