import { createHash } from "node:crypto";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import { RdbWalker } from "../rdb/walker";
import type { StreamItem } from "../replication-stream/follow";
import type { StreamPosition } from "../replication-stream/replica-link";
import { CheckedFile, writeManifest } from "./checked-file";
import { type PendingIncrement, beginIncrement, MOST_INSTANTS, removeMark, writeMark } from "./increments";
import type { ArchiveSet, BaseManifest, IncrementManifest } from "./manifests";
import { BASE_FILE, BASE_MANIFEST, MANIFEST_VERSION } from "./manifests";
import { nextName } from "./periods";
import type { ArchiveStore } from "./store";

interface ArchiveWriterOptions {
  /** Its commands can be restored only when it is closed. */
  readonly incrementMs?: number;
  readonly expectedBytes?: (() => number | undefined) | undefined;
  readonly onWritten?: ((written: WrittenFile) => void) | undefined;
  /** Called when the store has data from which a newer state of the current set can be restored. */
  readonly onInstant?: (() => void) | undefined;
  /** Called when every command until `at` (milliseconds since the epoch) is in the store. */
  readonly onSafe?: ((at: number) => void) | undefined;
  /** Returns the time, milliseconds since the epoch, by the clock of the stream's items. @default this process's clock */
  readonly now?: (() => number) | undefined;
}

export interface WrittenFile {
  readonly bytes: number;
  readonly keys: number | undefined;
  /** Time from the arrival of an increment's first command until the increment was in the store, milliseconds. */
  readonly ageMs: number;
  readonly set: string;
  /** Number of instants in a file with commands: times as of which the data can be restored. 0 for an RDB file. */
  readonly instants: number;
}

const INCREMENT_MS = 500;
const INCREMENT_BYTES = 64 * 1024 ** 2;
/** Smaller, because stores with named increments keep open increments in memory. */
const NAMED_INCREMENT_BYTES = 16 * 1024 ** 2;
/** Smallest time between two instants, milliseconds. */
const INSTANT_MS = 100;

/** Interval at which a manifest is written while no commands arrive, milliseconds. */
const QUIET_MS = 10_000;
/** Field of an RDB file with the number of the database that is selected when the commands after the file begin. */
const STREAM_DATABASE = "repl-stream-db";
const EMPTY = { size: 0, sha256: createHash("sha256").digest("hex") };

type Instant = [time: number, offset: number];

interface ResumePoint {
  readonly position: StreamPosition;
  readonly database: number;
}

interface OpenBase {
  readonly set: string;
  readonly file: CheckedFile;
  readonly walker: RdbWalker;
  readonly database: () => number;
  readonly manifest: Pick<BaseManifest, "replid" | "offset" | "serverVersion" | "startedAt">;
}

interface OpenIncrement {
  readonly file: PendingIncrement;
  readonly from: ResumePoint;
  readonly openedAt: number;
  readonly arrivedAt: number;
  readonly instants: Instant[];
  /** Time of the first of the commands that share the last instant, milliseconds since the epoch. */
  lastBegan: number;
}

interface PresentSet {
  readonly set: string;
  point: ResumePoint;
}

/** The caller passes the items of the stream in order, one at a time. */
export class ArchiveWriter {
  #base: OpenBase | undefined;
  #increment: OpenIncrement | undefined;
  #present: PresentSet | undefined;
  /** First and last time since the last increment for which it is known that no command had arrived. */
  #quiet: Instant[] = [];
  #quietWritten = -Infinity;
  /** Manifest in the store which records that no command has arrived since the last increment. */
  #mark: IncrementManifest | undefined;
  readonly #now: () => number;

  constructor(
    private readonly store: ArchiveStore,
    private readonly options: ArchiveWriterOptions = {},
    resume?: ArchiveSet,
  ) {
    this.#now = options.now ?? epochMs;
    if (resume === undefined) return;
    this.#present = { set: resume.name, point: resumePoint(resume) };
    const last = resume.increments.at(-1);
    if (last?.size === 0) this.#quiet = ends(last.instants);
  }

  get set(): string | undefined {
    return this.#base?.set ?? this.#present?.set;
  }

  /** After an error, the set ends with its last complete increment. @throws RdbCorrupt for a damaged RDB file */
  async write({ event, bytes }: StreamItem): Promise<void> {
    switch (event.kind) {
      case "base":
        await this.close();
        await this.#beginBase(event.position, event.serverVersion, event.at);
        return;
      case "base-bytes":
        this.#base?.walker.push(bytes);
        await this.#base?.file.write(bytes);
        return;
      case "base-end":
        await this.#endBase();
        return;
      case "continued": {
        await this.#closeIncrement();
        const present = this.#present;
        if (present !== undefined)
          present.point = { ...present.point, position: { ...present.point.position, replid: event.replid } };
        return;
      }
      case "commands":
        await this.#append(event, bytes);
        return;
      case "quiet":
        await this.#noteQuiet(event.at);
    }
  }

  /** Discards an RDB file or an increment that is not complete. */
  async close(): Promise<void> {
    const base = this.#base;
    this.#base = undefined;
    await base?.file.discard();
    await this.#closeIncrement();
    const present = this.#present;
    const isMarked = this.#mark?.instants.at(-1)?.[0] === this.#quiet.at(-1)?.[0];
    if (present !== undefined && this.#quiet.length > 0 && !isMarked) await this.#writeMark(present);
  }

  async #beginBase(position: StreamPosition, serverVersion: string, startedAt: number): Promise<void> {
    this.#present = undefined;
    this.#mark = undefined;
    this.#takeQuiet();
    const set = `${nextName(await this.store.list(""), startedAt)}-${position.offset}`;
    this.#base = {
      set,
      file: await CheckedFile.create(this.store, `${set}/${BASE_FILE}`, this.options.expectedBytes?.()),
      ...baseWalker(),
      manifest: { ...position, serverVersion, startedAt },
    };
  }

  async #endBase(): Promise<void> {
    const base = this.#base;
    if (base === undefined) throw new Error("a base ends that has not begun");
    const { keys, header } = base.walker.finish();
    this.#base = undefined;
    const manifest: BaseManifest = {
      version: MANIFEST_VERSION,
      ...base.manifest,
      ...(await base.file.commit()),
      database: base.database(),
      keys,
      format: `${header.magic} ${header.version}`,
    };
    await writeManifest(this.store, `${base.set}/${BASE_MANIFEST}`, manifest);
    this.options.onWritten?.({ bytes: manifest.size, keys, ageMs: 0, set: base.set, instants: 0 });
    this.options.onSafe?.(manifest.startedAt);
    const { replid, offset, database } = manifest;
    this.#present = { set: base.set, point: { position: { replid, offset }, database } };
  }

  async #append(event: Extract<StreamItem["event"], { kind: "commands" }>, bytes: Buffer): Promise<void> {
    const present = this.#present;
    if (present === undefined)
      throw new Error("no set can take these commands: its RDB file or its last increment was not written");
    if (present.point.position.offset + bytes.length !== event.offset) throw new Error("the stream has a gap");
    const { set, point } = present;
    const incrementBytes = this.store.hasNamedIncrements ? NAMED_INCREMENT_BYTES : INCREMENT_BYTES;
    this.#increment ??= {
      file: await beginIncrement(this.store, set, point.position.offset),
      from: point,
      openedAt: performance.now(),
      arrivedAt: event.at ?? this.#now(),
      instants: this.#takeQuiet(),
      lastBegan: -Infinity,
    };
    await this.#increment.file.write(bytes);
    present.point = {
      position: { ...point.position, offset: event.offset },
      database: event.database ?? point.database,
    };
    if (event.at !== undefined) addInstant(this.#increment, event.at, event.offset);
    if (this.#increment.file.size >= incrementBytes) await this.#closeIncrement();
    else await this.#closeIfDue();
  }

  /** Without an open increment, a mark (a manifest without commands) has the time; the next increment replaces it. */
  async #noteQuiet(at: number): Promise<void> {
    const present = this.#present;
    if (present === undefined) return;
    const { offset } = present.point.position;
    if (this.#increment !== undefined) {
      addInstant(this.#increment, at, offset);
      await this.#closeIfDue();
      return;
    }
    const [first] = this.#quiet;
    // If the clock was set back by more than the quiet time, only the new times are known to be quiet.
    this.#quiet = first === undefined || at <= first[0] ? [[at, offset]] : [first, [at, offset]];
    if (performance.now() - this.#quietWritten >= QUIET_MS) {
      this.#quietWritten = performance.now();
      await this.#writeMark(present);
    }
    this.options.onSafe?.(at);
  }

  async #writeMark(present: PresentSet): Promise<void> {
    const mark = describe(present, present.point, this.#quiet, EMPTY);
    await writeMark(this.store, present.set, mark);
    await this.#replaceMark(present.set, mark);
    this.options.onInstant?.();
  }

  async #closeIfDue(): Promise<void> {
    const { incrementMs = INCREMENT_MS } = this.options;
    const increment = this.#increment;
    if (increment === undefined) return;
    const isFull = this.store.hasNamedIncrements && increment.instants.length >= MOST_INSTANTS;
    if (isFull || performance.now() - increment.openedAt >= incrementMs) await this.#closeIncrement();
  }

  async #closeIncrement(): Promise<void> {
    const [increment, present] = [this.#increment, this.#present];
    this.#increment = undefined;
    if (increment === undefined || present === undefined) return;
    // Nothing may follow an increment that is not in the store.
    this.#present = undefined;
    const { instants } = increment;
    const written = await increment.file.commit((facts) => describe(present, increment.from, instants, facts));
    if (written === undefined) return;
    this.#present = present;
    // The clock may have been set meanwhile.
    const ageMs = Math.max(0, this.#now() - increment.arrivedAt);
    await this.#replaceMark(present.set, undefined);
    const { set } = present;
    this.options.onWritten?.({ bytes: written.size, keys: undefined, ageMs, set, instants: instants.length });
    const last = instants.at(-1);
    if (last === undefined) return;
    this.options.onInstant?.();
    this.options.onSafe?.(last[0]);
  }

  /** Removes the old mark (a manifest without commands) after the new mark, or an increment, has recorded its times. */
  async #replaceMark(set: string, mark: IncrementManifest | undefined): Promise<void> {
    const old = this.#mark;
    this.#mark = mark;
    if (old !== undefined) await removeMark(this.store, set, old);
  }

  #takeQuiet(): Instant[] {
    const quiet = this.#quiet;
    this.#quiet = [];
    this.#quietWritten = -Infinity;
    return quiet;
  }
}

function describe(
  { point }: PresentSet,
  from: ResumePoint,
  instants: readonly Instant[],
  facts: { readonly size: number; readonly sha256: string },
): IncrementManifest {
  return {
    version: MANIFEST_VERSION,
    replid: from.position.replid,
    from: from.position.offset,
    to: from.position.offset + facts.size,
    databaseBefore: from.database,
    database: point.database,
    instants: [...instants],
    ...facts,
  };
}

function ends(instants: readonly Instant[]): Instant[] {
  const [first, last] = [instants[0], instants.at(-1)];
  return first === undefined || last === undefined ? [] : first === last ? [first] : [first, last];
}

export function resumePoint({ base, increments }: ArchiveSet): ResumePoint {
  const last = increments.at(-1);
  return last === undefined
    ? { position: { replid: base.replid, offset: base.offset }, database: base.database }
    : { position: { replid: last.replid, offset: last.to }, database: last.database };
}

function baseWalker(): Pick<OpenBase, "walker" | "database"> {
  let text = "missing";
  const aux = (name: Buffer, value: Buffer): void => {
    if (name.toString() === STREAM_DATABASE) text = value.toString();
  };
  return {
    walker: new RdbWalker({ aux }),
    database: () => {
      if (!/^\d{1,9}$/.test(text))
        throw new Failure(
          `the RDB file has no valid field ${STREAM_DATABASE}, so the selected database is unknown (${text})`,
        );
      return Number(text);
    },
  };
}

function addInstant(increment: OpenIncrement, time: number, offset: number): void {
  const last = increment.instants.at(-1);
  if (last !== undefined && time - increment.lastBegan < INSTANT_MS) {
    last[0] = Math.max(last[0], time);
    last[1] = offset;
    return;
  }
  if (last !== undefined && time <= last[0]) return;
  increment.lastBegan = time;
  increment.instants.push([time, offset]);
}
