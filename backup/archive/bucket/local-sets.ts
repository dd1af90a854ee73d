/** Copies the files that a restore needs from a bucket to this machine, and checks their checksums. */
import { createHash } from "node:crypto";
import { Failure } from "../../../lib/errors";
import { Semaphore } from "../../../lib/semaphore";
import { formatBytes } from "../../../lib/units";
import type { Restore } from "../catalog";
import { BASE_FILE, incrementFile } from "../manifests";
import type { ArchiveStore } from "../store";
import { DirectoryStore, folderOf } from "../store";

const AT_ONCE = 32;

export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly report: (line: string, passing?: boolean) => void;
}

/** @throws Failure for a damaged file; the errors of the bucket; the signal's reason */
export async function copySets(restore: Restore, directory: string, options: CopyOptions): Promise<Restore> {
  const target = new DirectoryStore(directory);
  const limit = new Semaphore(AT_ONCE);
  const shards: Restore["shards"][number][] = [];
  for (const shard of restore.shards) {
    options.report(`copying ${shard.name}`, true);
    const copy = folderOf(target, shard.name);
    const { set, point } = shard;
    const increments = set.increments.filter(({ from, size }) => size > 0 && from < point.offset);
    const files = [
      { from: BASE_FILE, to: BASE_FILE, facts: set.base },
      ...increments.map((each) => ({
        from: each.file ?? incrementFile(each.from),
        to: incrementFile(each.from),
        facts: each,
      })),
    ];
    await Promise.all(
      files.map(({ from, to, facts }) =>
        limit.run(async () => {
          options.signal.throwIfAborted();
          await copyFile(shard.store, `${set.name}/${from}`, copy, `${set.name}/${to}`, facts);
        }),
      ),
    );
    const bytes = increments.reduce((sum, { size }) => sum + size, set.base.size);
    options.report(`${shard.name}: ${formatBytes(bytes)} copied`, true);
    shards.push({ ...shard, store: copy });
  }
  return { ...restore, shards };
}

async function copyFile(
  source: ArchiveStore,
  name: string,
  target: ArchiveStore,
  targetName: string,
  expected: { readonly size: number; readonly sha256: string },
): Promise<void> {
  const hash = createHash("sha256");
  let size = 0;
  const file = await target.create(targetName);
  try {
    for await (const piece of source.read(name)) {
      hash.update(piece);
      size += piece.length;
      await file.write(piece);
    }
    if (size !== expected.size || hash.digest("hex") !== expected.sha256)
      throw new Failure(`${name} is damaged: its checksum is not that of its manifest`);
    await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}
