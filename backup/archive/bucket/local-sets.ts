/** Copies the files that a restore of a shard needs from a bucket to this machine, and checks their checksums. */
import { createHash } from "node:crypto";
import { Failure } from "../../../lib/errors";
import { Semaphore } from "../../../lib/semaphore";
import type { Restore } from "../catalog";
import { BASE_FILE, incrementFile } from "../manifests";
import { type ArchiveStore, DirectoryStore } from "../store";

const AT_ONCE = 32;

type RestoredShard = Restore["shards"][number];

/** @throws Failure for a damaged file; the errors of the bucket; the signal's reason */
export async function copySet(shard: RestoredShard, directory: string, signal: AbortSignal): Promise<RestoredShard> {
  const copy = new DirectoryStore(directory);
  const limit = new Semaphore(AT_ONCE);
  const { store, set, point } = shard;
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
        signal.throwIfAborted();
        await copyFile(store, `${set.name}/${from}`, copy, `${set.name}/${to}`, facts);
      }),
    ),
  );
  return { ...shard, store: copy };
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
