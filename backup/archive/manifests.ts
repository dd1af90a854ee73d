/** A set is an RDB file (the base) and files of commands (increments). A file without a manifest does not count. */
import { z } from "zod";
import { BadInput, messageOf } from "../../lib/errors";
import type { ArchiveStore } from "./store";

export const MANIFEST_VERSION = 1;

const offset = z.int().min(0);
const replid = z.string().regex(/^[0-9a-f]{40}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const shared = { version: z.literal(MANIFEST_VERSION), size: z.int().min(0), sha256, replid };

export const baseManifest = z.object({
  ...shared,
  /** Offset in the replication stream after the RDB file, where the first command begins. */
  offset,
  serverVersion: z.string(),
  /** Format of the RDB file, such as `VALKEY 80`. */
  format: z.string(),
  /** Time at which the transfer of the RDB file began, milliseconds since the epoch. */
  startedAt: z.number(),
  keys: z.int().min(0),
  /** Number of the database that is selected before the first command after the RDB file. */
  database: z.int().min(0),
});

export const incrementManifest = z.object({
  ...shared,
  /** Offsets in the replication stream before the first and after the last command of the increment. */
  from: offset,
  to: offset,
  /** Numbers of the databases that are selected before the first and after the last command. */
  databaseBefore: z.int().min(0),
  database: z.int().min(0),
  /**
   * Instants, as pairs of a time and an offset: at this time (milliseconds since the epoch), the server had executed
   * exactly the commands up to this offset. Ascending, at least 100 ms apart.
   */
  instants: z.array(z.tuple([z.number(), offset])),
});

export type BaseManifest = z.infer<typeof baseManifest>;
export type IncrementManifest = z.infer<typeof incrementManifest>;

export interface StoredIncrement extends IncrementManifest {
  readonly file?: string | undefined;
}

export interface ArchiveSet {
  readonly name: string;
  readonly base: BaseManifest;
  readonly increments: readonly StoredIncrement[];
  readonly damage?: string | undefined;
}

export const BASE_FILE = "base.rdb";
export const BASE_MANIFEST = "base.json";
/** Names sort in the order of their offsets. */
export const incrementFile = (from: number): string => `${String(from).padStart(16, "0")}.aof`;
export const incrementManifestFile = (from: number): string => `${String(from).padStart(16, "0")}.json`;

export async function readManifest<T>(store: ArchiveStore, path: string, schema: z.ZodType<T>): Promise<T> {
  const pieces: Buffer[] = [];
  for await (const piece of store.read(path)) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  const version = versioned.safeParse(parseJson(text)).data?.version ?? MANIFEST_VERSION;
  if (version > MANIFEST_VERSION)
    throw BadInput.of(
      path,
      "newer-format",
      `a newer version of this program wrote the manifest (format ${version}; this program knows ${MANIFEST_VERSION})`,
    );
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw BadInput.of(path, "damaged-manifest", `the manifest is damaged: ${messageOf(error)}`);
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
