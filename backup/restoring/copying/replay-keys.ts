import type { Deployment } from "../../../valkey/deployment";
import type { RdbKey } from "../../rdb/rdb-visitor";
import { walkRdb } from "../../rdb/walk";
import { type CopiedKey, type ReplaySource, KeyReader } from "../key-reader";
import { type Copies, KeyWriter } from "./key-writer";
import { readDatabases } from "../../archive/shard-layout";

interface ReplayOptions {
  readonly sources: readonly ReplaySource[];
  readonly isWanted: (key: RdbKey) => boolean;
  readonly target: Deployment;
  /** Whether existing keys are replaced; otherwise they are left as they are. */
  readonly overwrite: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: ((keys: number) => void) | undefined;
}

/** A batch is complete with this number of keys, or values of at least this number of bytes. */
const BATCH = { keys: 256, bytes: 8 * 1024 ** 2 };

/** Undefined also if the program's user has no right to read the number of databases. */
export async function missingDatabases(target: Deployment, databases: readonly number[]): Promise<string | undefined> {
  const count = await readDatabases(target);
  const missing = databases.filter((database) => database >= (count ?? Infinity));
  if (missing.length === 0) return undefined;
  const named = `${missing.length === 1 ? "database" : "databases"} ${missing.join(", ")}`;
  return `the archive has keys in ${named}, and ${target.name} has only databases 0 to ${(count ?? 1) - 1}`;
}

/**
 * `scanWanted` must have read the sources before. After an interruption, call it again: without `overwrite`, copied
 * keys are kept.
 * @throws Failure when a server refuses a value, lacks memory, or is away for a minute; the signal's reason
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
        for (const batch of batchesOf(reader.take())) {
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

function batchesOf(keys: readonly CopiedKey[]): CopiedKey[][] {
  const batches: CopiedKey[][] = [];
  let bytes = Infinity;
  for (const key of keys) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= BATCH.keys || bytes >= BATCH.bytes) {
      batches.push([key]);
      bytes = key.dump.length;
    } else {
      last.push(key);
      bytes += key.dump.length;
    }
  }
  return batches;
}
