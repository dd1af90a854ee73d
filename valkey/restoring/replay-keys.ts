/** Copies keys from RDB files into a running deployment, and compares each copy with the original. */
import type { Deployment } from "../deployment";
import { encodeDump } from "../rdb/dump";
import type { RdbKey } from "../rdb/rdb-key";
import { shifted } from "../rdb/comparing/walk-values";
import { hasFieldTtls, shiftFieldTtls } from "../rdb/splitting/shift-ttl";
import { foreignSlot, movingSlots } from "../rdb/splitting/split";
import type { ByteSource } from "../rdb/walk";
import { walkRdb } from "../rdb/walk";
import type { SlotRange } from "../topology/slots";
import type { CopiedKey, Copies } from "./key-writer";
import { KeyWriter } from "./key-writer";
import { readDatabases } from "../archive/shard-layout";

/** An RDB file with keys to copy. */
export interface ReplaySource {
  /** Name of the file's shard, for messages. */
  readonly name: string;
  /** Slots of the shard. Wanted keys of other slots are an error. */
  readonly ranges: readonly SlotRange[];
  /** Opens the file from its beginning. */
  readonly open: () => ByteSource;
  /** Whole milliseconds that are added to the expiry time of each key and each hash field. */
  readonly shiftMs: number;
}

export interface ReplayOptions {
  readonly sources: readonly ReplaySource[];
  readonly isWanted: (key: RdbKey) => boolean;
  readonly target: Deployment;
  /** Whether a key that the target has already is replaced. If not, this key is left as it is. */
  readonly overwrite: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of keys that were copied or left out so far. */
  readonly onProgress?: ((keys: number) => void) | undefined;
}

/**
 * Limits of a batch of keys that are written together. A batch is complete when it has this number of keys, or values
 * of at least this number of bytes.
 */
const BATCH = { keys: 64, bytes: 8 * 1024 ** 2 };

/**
 * Finds the databases that contain keys to copy, in ascending order. Copies nothing.
 * @throws Failure for a wanted key of a slot that its shard does not have, and for a file from the middle of a slot
 * migration; RdbCorrupt for a damaged file; errors of the sources
 */
export async function wantedDatabases({
  sources,
  isWanted,
}: Pick<ReplayOptions, "sources" | "isWanted">): Promise<number[]> {
  const databases = new Set<number>();
  for (const { name, ranges, open } of sources)
    await walkRdb(open(), {
      slotImport: (moving) => {
        throw movingSlots(name, moving);
      },
      key: (key) => {
        if (!isWanted(key)) return;
        if (!ranges.some(({ from, to }) => from <= key.slot && key.slot <= to)) throw foreignSlot(name, key.slot);
        databases.add(key.database);
      },
    });
  return [...databases].sort((a, b) => a - b);
}

/**
 * The reason why a deployment lacks some of the given databases, as text. Undefined if it has all of them, or if the
 * program's user has no right to read their number.
 */
export async function missingDatabases(target: Deployment, databases: readonly number[]): Promise<string | undefined> {
  const count = await readDatabases(target);
  const missing = databases.filter((database) => database >= (count ?? Infinity));
  if (missing.length === 0) return undefined;
  const named = `${missing.length === 1 ? "database" : "databases"} ${missing.join(", ")}`;
  return `the archive has keys in ${named}, and ${target.name} has only databases 0 to ${(count ?? 1) - 1}`;
}

/**
 * Copies the wanted keys into a deployment (the target). `wantedDatabases` must have read the sources before. Its
 * servers check each value when they load it. If a call stops in the middle, call this function again. Without
 * `overwrite`, the second call keeps the keys that the first call has copied.
 * @throws Failure when a server of the target refuses a value, has no memory for it, or cannot be reached for a minute;
 * the signal's reason
 */
export async function replayKeys({
  sources,
  target,
  isWanted,
  onProgress,
  ...options
}: ReplayOptions): Promise<Copies> {
  const writer = new KeyWriter(target, options.overwrite, options.signal);
  let count = 0;
  try {
    for (const { open, shiftMs } of sources) {
      const reader = new KeyReader(isWanted, shiftMs);
      await walkRdb(open(), reader, async () => {
        for (const batch of reader.take()) {
          options.signal.throwIfAborted();
          await writer.write(batch);
          onProgress?.((count += batch.length));
        }
      });
    }
    return writer.copies;
  } finally {
    writer.close();
  }
}

/** Collects the keys to copy while an RDB file is read in pieces. */
class KeyReader {
  #current: RdbKey | undefined;
  #pieces: Buffer[] = [];
  /** Number of bytes of TTL, type and key that still come before the value of the current key. */
  #before = 0;
  #keys: CopiedKey[] = [];

  constructor(
    private readonly isWanted: (key: RdbKey) => boolean,
    private readonly shiftMs: number,
  ) {}

  key(key: RdbKey): void {
    this.#current = this.isWanted(key) ? key : undefined;
    this.#pieces = [];
    this.#before = key.valueOffset - key.offset;
  }

  keyBytes(buffer: Buffer, from: number, to: number): void {
    if (this.#current === undefined) return;
    // The beginning of a key comes in one piece.
    if (this.#before > 0) this.#before -= to - from;
    else this.#pieces.push(buffer.subarray(from, to));
  }

  keyEnd(): void {
    const key = this.#current;
    if (key === undefined) return;
    const archived = Buffer.concat(this.#pieces);
    const value = Buffer.from(archived);
    if (this.shiftMs !== 0 && hasFieldTtls(key)) shiftFieldTtls(value, this.shiftMs);
    this.#keys.push({
      database: key.database,
      key: Buffer.from(key.key),
      type: key.type,
      archived,
      shiftMs: this.shiftMs,
      expiresAt: shifted(key.expiresAt, this.shiftMs),
      dump: encodeDump(key.type, value),
    });
  }

  /** Returns the keys that were collected since the last call, in batches. */
  take(): CopiedKey[][] {
    const batches: CopiedKey[][] = [];
    let bytes = Infinity;
    for (const key of this.#keys) {
      const last = batches.at(-1);
      if (last === undefined || last.length >= BATCH.keys || bytes >= BATCH.bytes) {
        batches.push([key]);
        bytes = key.dump.length;
      } else {
        last.push(key);
        bytes += key.dump.length;
      }
    }
    this.#keys = [];
    return batches;
  }
}
