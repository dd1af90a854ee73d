import { BadInput } from "../../lib/errors";
import { writeManifest } from "./checked-file";
import { chainOf, parseIncrementName, inTurns } from "./increments";
import type { ArchiveSet, IncrementManifest, StoredIncrement } from "./manifests";
import {
  BASE_FILE,
  BASE_MANIFEST,
  MANIFEST_VERSION,
  baseManifest,
  incrementFile,
  incrementManifest,
  incrementManifestFile,
  readManifest,
} from "./manifests";
import type { ArchiveStore } from "./store";

const DELETED = "deleted.json";
/** In a bucket, the names of increments sort after it. */
const FIRST_FILES = 10;

const INCREMENT_MANIFEST = /^(\d{16,})\.json$/;

/** A folder that has neither a complete RDB file nor commands does not count as a set. */
export async function listSets(store: ArchiveStore): Promise<string[]> {
  const listed = await Promise.all(
    (await store.list("")).map(async (name) => {
      const files = await store.list(name, FIRST_FILES);
      const isSet = files.some((file) => file === BASE_MANIFEST || isIncrement(file));
      return isSet && !files.includes(DELETED) ? [name] : [];
    }),
  );
  return listed.flat();
}

const isIncrement = (file: string): boolean => INCREMENT_MANIFEST.test(file) || parseIncrementName(file) !== undefined;

export async function isDeleted(store: ArchiveStore, name: string): Promise<boolean> {
  const files = await store.list(name, FIRST_FILES);
  return files.length === 0 || files.includes(DELETED);
}

/** Readers stop seeing the set before its first file is removed. @param isHeld called after that; true keeps the set */
export async function deleteSet(
  store: ArchiveStore,
  name: string,
  signal: AbortSignal,
  isHeld?: () => Promise<boolean>,
): Promise<boolean> {
  await writeManifest(store, `${name}/${DELETED}`, { version: MANIFEST_VERSION });
  if ((await isHeld?.()) === true) {
    await store.remove(`${name}/${DELETED}`);
    return false;
  }
  await store.remove(`${name}/${BASE_MANIFEST}`);
  await store.removeFolder(name, DELETED, signal);
  return true;
}

export async function finishDeletions(store: ArchiveStore, signal: AbortSignal): Promise<void> {
  for (const name of await store.list(""))
    if ((await store.list(name, FIRST_FILES)).includes(DELETED)) await deleteSet(store, name, signal);
}

/** A process may have been killed before a base's manifest came. Only the process with the lease may call this. */
export async function removeUnfinishedBases(store: ArchiveStore, signal: AbortSignal): Promise<void> {
  for (const name of await store.list("")) {
    const files = await store.list(name, FIRST_FILES);
    if (files.length > 0 && files.every((file) => file === BASE_FILE))
      await store.removeFolder(name, BASE_FILE, signal);
  }
}

/** If a file is missing, `damage` names it. @throws BadInput without an RDB file or intact manifests */
export async function readSet(store: ArchiveStore, name: string): Promise<ArchiveSet> {
  const set = await readSetOnce(store, name);
  // An archive that is being written may have got files after they were listed.
  return set.damage === undefined ? set : readSetOnce(store, name);
}

async function readSetOnce(store: ArchiveStore, name: string): Promise<ArchiveSet> {
  const files = new Set(await store.list(name));
  for (const file of [BASE_MANIFEST, BASE_FILE])
    if (!files.has(file)) throw BadInput.of(`set ${name}`, "missing-file", `the file ${file} is missing`);
  const base = await readManifest(store, `${name}/${BASE_MANIFEST}`, baseManifest);
  const increments: IncrementManifest[] = [];
  let missing: string | undefined;
  if (store.hasNamedIncrements) {
    const { chain, hasLater } = await chainOf(await parseNames(files), base.offset);
    const end = chain.at(-1)?.to ?? base.offset;
    return {
      name,
      base,
      increments: chain,
      damage: hasLater ? `the increment after offset ${end} is missing` : undefined,
    };
  }
  let next = base.offset;
  while (files.has(incrementManifestFile(next))) {
    const path = `${name}/${incrementManifestFile(next)}`;
    const increment = await readManifest(store, path, incrementManifest);
    if (increment.from !== next || increment.to < next || increment.size !== increment.to - next)
      throw BadInput.of(path, "wrong-offsets", "the offsets do not fit the name and the size of the file");
    if (increment.size > 0 && !files.has(incrementFile(next))) missing = incrementFile(next);
    if (missing !== undefined) break;
    increments.push(increment);
    // An increment without commands only has instants, and the next one has the same name.
    if (increment.to === next) break;
    next = increment.to;
  }
  const later = [...files].some((file) => Number(INCREMENT_MANIFEST.exec(file)?.[1] ?? -1) > next);
  if (later) missing ??= incrementManifestFile(next);
  return { name, base, increments, damage: missing && `the file ${missing} is missing` };
}

/** A set can have so many that other work has its turn in between. */
async function parseNames(files: Iterable<string>): Promise<StoredIncrement[]> {
  const named: StoredIncrement[] = [];
  for await (const file of inTurns(files)) {
    const parsed = parseIncrementName(file);
    if (parsed !== undefined) named.push({ ...parsed, file });
  }
  return named;
}
