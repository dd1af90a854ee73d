/** Values are copied from one RDB file to others without decoding. */
import { Failure } from "../../../lib/errors";
import { type SlotRange, SLOT_COUNT, formatRanges } from "../../../valkey/topology/slots";
import { FunctionLibraries } from "./function-libraries";
import { type RdbHeader, formatHeader } from "../rdb-format";
import type { RdbKey } from "../rdb-visitor";
import { type ByteSink, RdbWriter } from "./rdb-writer";
import { hasFieldTtls, shiftFieldTtls, shiftKeyTtl } from "./shift-ttl";
import { type ByteSource, walkRdb } from "../walk";

export interface SplitSource {
  readonly name: string;
  readonly bytes: ByteSource;
  /** Keys of other slots are an error. */
  readonly ranges?: readonly SlotRange[] | undefined;
  readonly shiftMs?: number | undefined;
}

interface SplitTarget {
  readonly ranges: readonly SlotRange[];
  readonly sink: ByteSink;
}

export interface SplitResult {
  readonly keysOf: readonly number[];
  readonly databases: readonly number[];
}

/** They describe the data; all others describe the server that wrote the file, such as its replication offset. */
const KEPT_FIELDS: ReadonlySet<string> = new Set(["valkey-ver", "redis-ver", "redis-bits", "ctime"]);
const NO_TARGET = SLOT_COUNT;
const ALL_SLOTS: readonly SlotRange[] = [{ from: 0, to: SLOT_COUNT - 1 }];
/** Total size of the blocks of all targets, and the largest and the smallest size of one block, bytes. */
const BLOCKS = { all: 64 * 1024 ** 2, most: 1024 ** 2, least: 16 * 1024 };

/**
 * Each target receives the keys of its slots, and all libraries of functions.
 * @param sources files of the same format, without common keys
 * @throws RdbCorrupt for a damaged file; targets are then incomplete, without their checksums
 * @throws Failure for data that fit into no target, and for a file from the middle of a slot migration
 */
export async function splitRdbs(
  sources: readonly SplitSource[],
  targets: readonly SplitTarget[],
  isWanted: (key: RdbKey) => boolean = () => true,
): Promise<SplitResult> {
  const splitter = new Splitter(targets, isWanted);
  for (const source of sources) await splitter.read(source);
  return splitter.end();
}

class Splitter {
  readonly #targetOf: Uint16Array;
  readonly #keysOf: number[];
  readonly #databases = new Set<number>();
  readonly #run = new CopiedRun();
  readonly #libraries = new FunctionLibraries();
  #writers: RdbWriter[] = [];
  #header: RdbHeader | undefined;

  constructor(
    private readonly targets: readonly SplitTarget[],
    private readonly isWanted: (key: RdbKey) => boolean,
  ) {
    this.#targetOf = indexBySlot(targets);
    this.#keysOf = targets.map(() => 0);
  }

  async read({ name, bytes, ranges = ALL_SLOTS, shiftMs = 0 }: SplitSource): Promise<void> {
    const sourceOf = indexBySlot([{ ranges }]);
    const isFirst = this.#header === undefined;
    let shifting: ShiftedKey | undefined;
    let isCopied = false;
    await walkRdb(
      bytes,
      {
        header: (header) => {
          this.#begin(header);
        },
        aux: (field, value) => {
          if (!isFirst || !KEPT_FIELDS.has(field.toString("latin1"))) return;
          for (const writer of this.#writers) writer.aux(field, value);
        },
        functionLibrary: (code) => {
          this.#addLibrary(name, code);
        },
        slotImport: (moving) => {
          throw movingSlots(name, moving);
        },
        moduleAux: () => {
          throw new Failure(
            `${name}: the file has data of a module that belong to no key; such data cannot be split by slot`,
          );
        },
        key: (key) => {
          isCopied = this.isWanted(key);
          if (!isCopied) return;
          const { slot } = key;
          if (sourceOf[slot] !== 0) throw foreignSlot(name, slot);
          this.#select(slot, key.database);
          shifting = shiftMs === 0 ? undefined : ShiftedKey.of(key, shiftMs);
        },
        keyBytes: (buffer, from, to) => {
          if (!isCopied) return;
          if (shifting === undefined) this.#run.add(buffer, from, to);
          else shifting.add(buffer.subarray(from, to));
        },
        keyEnd: () => {
          const moved = isCopied ? shifting?.moved() : undefined;
          if (moved !== undefined) this.#run.add(moved, 0, moved.length);
        },
      },
      () => this.#flush(),
    );
  }

  async end(): Promise<SplitResult> {
    for (const writer of this.#writers) await writer.end();
    return { keysOf: this.#keysOf, databases: [...this.#databases].sort((a, b) => a - b) };
  }

  #begin(header: RdbHeader): void {
    if (this.#header !== undefined && !formatHeader(this.#header).equals(formatHeader(header)))
      throw new Failure("the files have different formats");
    if (this.#header !== undefined) return;
    this.#header = header;
    const block = Math.min(BLOCKS.most, Math.max(BLOCKS.least, Math.floor(BLOCKS.all / this.targets.length)));
    this.#writers = this.targets.map(({ sink }) => new RdbWriter(sink, header, block));
  }

  #select(slot: number, database: number): void {
    const target = this.#targetOf[slot] ?? NO_TARGET;
    const writer = this.#writers[target];
    if (writer === undefined) throw new Failure(`there is a key in slot ${slot}, but no target has this slot`);
    this.#run.continueIn(writer, database);
    this.#keysOf[target] = (this.#keysOf[target] ?? 0) + 1;
    this.#databases.add(database);
  }

  #addLibrary(shard: string, code: Buffer): void {
    if (!this.#libraries.add(shard, code)) return;
    this.#run.end();
    for (const writer of this.#writers) writer.functionLibrary(code);
  }

  async #flush(): Promise<void> {
    this.#run.end();
    for (const writer of this.#writers) await writer.flush();
  }
}

export function movingSlots(shard: string, moving: readonly SlotRange[]): Failure {
  return new Failure(
    `${shard}: the file was written while slots moved between shards (${formatRanges(moving)}), so it has only ` +
      "a part of their keys; make a new backup after the resize",
  );
}

export function foreignSlot(shard: string, slot: number): Failure {
  return new Failure(
    `${shard}: the file has a key in slot ${slot}, which a different shard has: slots were moving at this time`,
  );
}

/** Its bytes are collected, because the TTLs of a hash's fields are inside the value. */
class ShiftedKey {
  #pieces: Buffer[] = [];

  private constructor(
    private readonly shiftMs: number,
    private readonly hasFields: boolean,
  ) {}

  static of(key: RdbKey, shiftMs: number): ShiftedKey | undefined {
    const hasFields = hasFieldTtls(key);
    return key.expiresAt === undefined && !hasFields ? undefined : new ShiftedKey(shiftMs, hasFields);
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
  }

  moved(): Buffer {
    const [head = Buffer.alloc(0), ...value] = this.#pieces;
    const moved = shiftKeyTtl(head, this.shiftMs);
    const whole = Buffer.concat([moved, ...value]);
    if (this.hasFields) shiftFieldTtls(whole.subarray(moved.length), this.shiftMs);
    return whole;
  }
}

function indexBySlot(entries: readonly { readonly ranges: readonly SlotRange[] }[]): Uint16Array {
  const indexes = new Uint16Array(SLOT_COUNT).fill(NO_TARGET);
  for (const [index, { ranges }] of entries.entries()) {
    for (const { from, to } of ranges) {
      for (let slot = from; slot <= to; slot++) {
        if (indexes[slot] !== NO_TARGET) throw new Failure(`two targets have slot ${slot}`);
        indexes[slot] = index;
      }
    }
  }
  return indexes;
}

/** Bytes that are next to each other in the source and go to the same target are copied together. */
class CopiedRun {
  #writer: RdbWriter | undefined;
  #database: number | undefined;
  #buffer: Buffer | undefined;
  #from = 0;
  #to = 0;

  continueIn(writer: RdbWriter, database: number): void {
    if (writer === this.#writer && database === this.#database) return;
    this.end();
    writer.selectDatabase(database);
    this.#writer = writer;
    this.#database = database;
  }

  add(buffer: Buffer, from: number, to: number): void {
    if (buffer === this.#buffer && from === this.#to) {
      this.#to = to;
      return;
    }
    this.end();
    this.#buffer = buffer;
    this.#from = from;
    this.#to = to;
  }

  end(): void {
    if (this.#buffer !== undefined) this.#writer?.copy(this.#buffer, this.#from, this.#to);
    this.#buffer = undefined;
  }
}
