/** Splits an RDB file by slots into RDB files that servers load. Values are copied without decoding. */
import { Failure } from "../../lib/errors";
import type { SlotRange } from "../topology/slots";
import { SLOT_COUNT, formatRanges } from "../topology/slots";
import type { RdbKey } from "./rdb-key";
import type { ByteSink } from "./rdb-writer";
import { RdbWriter } from "./rdb-writer";
import type { ByteSource } from "./walk";
import { walkRdb } from "./walk";
import type { RdbSummary } from "./rdb-visitor";

/** One file that the split writes. */
export interface SplitTarget {
  /** Slots whose keys the file receives. */
  readonly ranges: readonly SlotRange[];
  readonly sink: ByteSink;
}

/**
 * Auxiliary fields that describe the data. The others describe the server that wrote the file: its replication offset,
 * its memory, sizes of slots.
 */
const KEPT_FIELDS: ReadonlySet<string> = new Set(["valkey-ver", "redis-ver", "redis-bits", "ctime"]);
const NO_TARGET = 255;

/**
 * Splits a file. Each target receives its keys, and all libraries of functions.
 * @param targets up to 254 targets. Keys of slots in no target are an error
 * @returns facts about the file that was split, and the number of keys of each target
 * @throws RdbCorrupt for a damaged file. The targets are then incomplete, without their checksums
 * @throws Failure for a key without a target, for a file from the middle of a slot migration, and for data of modules
 * that belong to no key
 */
export async function splitRdb(
  source: ByteSource,
  targets: readonly SplitTarget[],
): Promise<RdbSummary & { readonly keysOf: readonly number[] }> {
  const targetOf = targetsBySlot(targets);
  let writers: RdbWriter[] = [];
  const keysOf = targets.map(() => 0);
  const run = new CopiedRun();
  const summary = await walkRdb(
    source,
    {
      header: (header) => {
        writers = targets.map(({ sink }) => new RdbWriter(sink, header));
      },
      aux: (name, value) => {
        if (!KEPT_FIELDS.has(name.toString("latin1"))) return;
        for (const writer of writers) writer.aux(name, value);
      },
      functionLibrary: (code) => {
        for (const writer of writers) writer.functionLibrary(code);
      },
      slotImport: (ranges) => {
        throw new Failure(
          `the file was written while slots moved between shards (${formatRanges(ranges)}), so it has only a part of ` +
            "their keys; make a new backup after the resize",
        );
      },
      moduleAux: () => {
        throw new Failure("the file has data of a module that belong to no key; such data cannot be split by slot");
      },
      key: (key: RdbKey) => {
        const target = targetOf[key.slot] ?? NO_TARGET;
        const writer = writers[target];
        if (writer === undefined)
          throw new Failure(`the file has a key in slot ${key.slot}, but no target has this slot`);
        run.continueIn(writer, key.database);
        keysOf[target] = (keysOf[target] ?? 0) + 1;
      },
      keyBytes: (buffer, from, to) => {
        run.add(buffer, from, to);
      },
    },
    async () => {
      run.end();
      for (const writer of writers) await writer.flush();
    },
  );
  for (const writer of writers) await writer.end();
  return { ...summary, keysOf };
}

/** Bytes that follow each other in the source and go to the same target. They are copied at once. */
class CopiedRun {
  #writer: RdbWriter | undefined;
  #database: number | undefined;
  #buffer: Buffer | undefined;
  #from = 0;
  #to = 0;

  /** Says to which target and database the next bytes belong. */
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

  /** Copies what has been added. */
  end(): void {
    if (this.#buffer !== undefined) this.#writer?.copy(this.#buffer, this.#from, this.#to);
    this.#buffer = undefined;
  }
}

/** The number of the target of each slot. @throws Failure if two targets have the same slot */
function targetsBySlot(targets: readonly SplitTarget[]): Uint8Array {
  if (targets.length >= NO_TARGET) throw new Failure(`${targets.length} targets are too many; at most 254 are allowed`);
  const targetOf = new Uint8Array(SLOT_COUNT).fill(NO_TARGET);
  for (const [index, { ranges }] of targets.entries()) {
    for (const { from, to } of ranges) {
      for (let slot = from; slot <= to; slot++) {
        if (targetOf[slot] !== NO_TARGET) throw new Failure(`two targets have slot ${slot}`);
        targetOf[slot] = index;
      }
    }
  }
  return targetOf;
}
