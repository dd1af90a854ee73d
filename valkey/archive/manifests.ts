/**
 * Manifests of archives. A set is a folder with an RDB file (the base) and files of commands (increments) that continue
 * it. Each file has a manifest, which is written after the file. A file without a manifest does not count.
 */
import { z } from "zod";
import { BadInput, messageOf } from "../../lib/errors";
import type { ArchiveStore } from "./store";

/** Version of the manifests. A program refuses manifests of a newer version. */
export const MANIFEST_VERSION = 1;

const offset = z.int().min(0);
const replid = z.string().regex(/^[0-9a-f]{40}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const shared = { version: z.literal(MANIFEST_VERSION), size: z.int().min(0), sha256, replid };

const baseManifest = z.object({
  ...shared,
  /** Offset of the first command after the base. */
  offset,
  serverVersion: z.string(),
  /** Format of the base, such as `VALKEY 80`. */
  format: z.string(),
  /** Time at which the transfer of the base began, milliseconds since the epoch. */
  startedAt: z.number(),
  keys: z.int().min(0),
  /** The database that is selected before the first command after the base. */
  database: z.int().min(0),
});

const incrementManifest = z.object({
  ...shared,
  /** Offsets before the first and after the last command. */
  from: offset,
  to: offset,
  /** Databases that are selected before the first and after the last command. */
  databaseBefore: z.int().min(0),
  database: z.int().min(0),
  /**
   * Instants: at this time (milliseconds since the epoch), the server had executed exactly the commands up to this
   * offset. Ascending, at least 100 ms apart.
   */
  instants: z.array(z.tuple([z.number(), offset])),
});

export type BaseManifest = z.infer<typeof baseManifest>;
export type IncrementManifest = z.infer<typeof incrementManifest>;

/** A set that can be restored: a base, and increments without a gap. */
export interface ArchiveSet {
  readonly name: string;
  readonly base: BaseManifest;
  readonly increments: readonly IncrementManifest[];
  /** Name of the first missing file, as a sentence, if the set has later files. Otherwise the value is undefined. */
  readonly damage?: string | undefined;
}

export const BASE_FILE = "base.rdb";
export const BASE_MANIFEST = "base.json";
/** Name of the file with the commands after an offset. The names sort as the offsets do. */
export const incrementFile = (from: number): string => `${String(from).padStart(16, "0")}.aof`;
export const incrementManifestFile = (from: number): string => `${String(from).padStart(16, "0")}.json`;

const INCREMENT_MANIFEST = /^(\d{16,})\.json$/;

/**
 * Names of all sets with a base or increments, oldest first. A folder with neither is a base that was never complete.
 * @throws the store's error
 */
export async function listSets(store: ArchiveStore): Promise<string[]> {
  const names: string[] = [];
  for (const name of await store.list("")) {
    const files = await store.list(name);
    if (files.some((file) => file === BASE_MANIFEST || INCREMENT_MANIFEST.test(file))) names.push(name);
  }
  return names;
}

/**
 * Reads the manifests of a set. Increments after a gap are not read, and `damage` says so.
 * @throws BadInput for a set without its base, and for damaged manifests
 */
export async function readSet(store: ArchiveStore, name: string): Promise<ArchiveSet> {
  const set = await readSetOnce(store, name);
  // An archive that is being written may have got files after they were listed.
  return set.damage === undefined ? set : readSetOnce(store, name);
}

async function readSetOnce(store: ArchiveStore, name: string): Promise<ArchiveSet> {
  const files = new Set(await store.list(name));
  for (const file of [BASE_MANIFEST, BASE_FILE])
    if (!files.has(file)) throw new BadInput(`set ${name}`, [`the file ${file} is missing`]);
  const base = await readManifest(store, `${name}/${BASE_MANIFEST}`, baseManifest);
  const increments: IncrementManifest[] = [];
  let missing: string | undefined;
  let next = base.offset;
  while (files.has(incrementManifestFile(next))) {
    const path = `${name}/${incrementManifestFile(next)}`;
    const increment = await readManifest(store, path, incrementManifest);
    if (increment.from !== next || increment.to < next || increment.size !== increment.to - next)
      throw new BadInput(path, ["the offsets do not fit the name and the size of the file"]);
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

/**
 * Reads a manifest.
 * @throws BadInput for a damaged manifest and for a manifest of a newer version of this program
 */
export async function readManifest<T>(store: ArchiveStore, path: string, schema: z.ZodType<T>): Promise<T> {
  const pieces: Buffer[] = [];
  for await (const piece of store.read(path)) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  const version = versioned.safeParse(parseJson(text)).data?.version ?? MANIFEST_VERSION;
  if (version > MANIFEST_VERSION)
    throw new BadInput(path, [
      `a newer version of this program wrote the manifest (format ${version}; this program knows ${MANIFEST_VERSION})`,
    ]);
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new BadInput(path, [`the manifest is damaged: ${messageOf(error)}`]);
  }
}

const versioned = z.looseObject({ version: z.int() });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
