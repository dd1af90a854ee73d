/** From rdb.h and rdb.c of Valkey and Redis. */
import { RdbCorrupt } from "./rdb-corrupt";

/** Opcodes: bytes that announce something other than a key. */
export const OPCODE = {
  slotImport: 243,
  slotInfo: 244,
  function: 245,
  functionOfReleaseCandidate: 246,
  moduleAux: 247,
  idle: 248,
  frequency: 249,
  aux: 250,
  resizeDatabase: 251,
  expireMs: 252,
  expireSeconds: 253,
  selectDatabase: 254,
  end: 255,
} as const;

/** From 22 on, numbers mean different types in files of Redis 7.4 and newer; 256 is added to those. */
export const TYPE = {
  string: 0,
  list: 1,
  set: 2,
  sortedSetText: 3,
  hash: 4,
  sortedSet: 5,
  moduleOfReleaseCandidate: 6,
  module: 7,
  hashZipmap: 9,
  listZiplist: 10,
  setIntset: 11,
  sortedSetZiplist: 12,
  hashZiplist: 13,
  listQuicklist: 14,
  stream1: 15,
  hashListpack: 16,
  sortedSetListpack: 17,
  listQuicklist2: 18,
  stream2: 19,
  setListpack: 20,
  stream3: 21,
  /** Hash whose fields have TTLs, from Valkey 9.0. */
  hashFieldTtls: 22,
  /** The next four: hashes whose fields have TTLs, from Redis 7.4 and its release candidates. */
  redisHashAbsolute: 22 + 256,
  redisHashListpackAbsolute: 23 + 256,
  redisHashMetadata: 24 + 256,
  redisHashListpack: 25 + 256,
} as const;

const FOREIGN = 256;

export function typeOf(byte: number, isRedis: boolean): number {
  return isRedis && byte >= TYPE.hashFieldTtls ? byte + FOREIGN : byte;
}

export const byteOf = (type: number): number => type & 255;

/** `repeat` is a list of parts after a length, which says how often the list is repeated. */
type Part =
  /** A length, a string, a score as text, or the opcodes of a module up to their end. */
  | { readonly kind: "length" | "string" | "score" | "module" }
  | { readonly kind: "bytes"; readonly count: number }
  | { readonly kind: "repeat"; readonly parts: Layout };

/** With a layout, a value can be skipped without decoding. */
export type Layout = readonly Part[];

const length: Part = { kind: "length" };
const string: Part = { kind: "string" };
const moduleValue: Part = { kind: "module" };
const bytes = (count: number): Part => ({ kind: "bytes", count });
const repeat = (...parts: Layout): Part => ({ kind: "repeat", parts });
/** Parts with a fixed number of bytes: the ID of a stream's entry, and a time or a double. */
const [ID, EIGHT] = [bytes(16), bytes(8)];

function streamLayout(version: 1 | 2 | 3): Layout {
  const pending = repeat(ID, EIGHT, length);
  const consumers = repeat(string, EIGHT, ...(version === 3 ? [EIGHT] : []), repeat(ID));
  return [
    repeat(string, string),
    // Number of entries, last ID; from version 2, first ID, highest deleted ID, number of entries ever added.
    ...[length, length, length],
    ...(version === 1 ? [] : [length, length, length, length, length]),
    repeat(string, length, length, ...(version === 1 ? [] : [length]), pending, consumers),
  ];
}

const LAYOUTS: ReadonlyMap<number, Layout> = new Map<number, Layout>([
  ...[
    TYPE.string,
    TYPE.hashZipmap,
    TYPE.listZiplist,
    TYPE.setIntset,
    TYPE.sortedSetZiplist,
    TYPE.hashZiplist,
    TYPE.hashListpack,
    TYPE.sortedSetListpack,
    TYPE.setListpack,
    TYPE.redisHashListpackAbsolute,
  ].map((type): [number, Layout] => [type, [string]]),
  [TYPE.list, [repeat(string)]],
  [TYPE.set, [repeat(string)]],
  [TYPE.listQuicklist, [repeat(string)]],
  [TYPE.listQuicklist2, [repeat(length, string)]],
  [TYPE.sortedSetText, [repeat(string, { kind: "score" })]],
  [TYPE.sortedSet, [repeat(string, EIGHT)]],
  [TYPE.hash, [repeat(string, string)]],
  [TYPE.hashFieldTtls, [repeat(string, string, EIGHT)]],
  [TYPE.redisHashAbsolute, [repeat(length, string, string)]],
  [TYPE.redisHashMetadata, [EIGHT, repeat(length, string, string)]],
  [TYPE.redisHashListpack, [EIGHT, string]],
  [TYPE.module, [length, moduleValue]],
  [TYPE.stream1, streamLayout(1)],
  [TYPE.stream2, streamLayout(2)],
  [TYPE.stream3, streamLayout(3)],
]);

/** @throws RdbCorrupt for an unknown type, because the end of its value cannot be found */
export function layoutOf(type: number, offset?: number): Layout {
  const layout = LAYOUTS.get(type);
  if (layout !== undefined) return layout;
  const origin = type >= FOREIGN ? " in a file of Redis" : "";
  throw new RdbCorrupt(`unknown type or opcode ${byteOf(type)}${origin}`, offset);
}

export interface RdbHeader {
  readonly magic: "REDIS" | "VALKEY";
  readonly version: number;
}

export const HEADER_BYTES = 9;
export const CHECKSUM_SINCE = 5;
const NEWEST = { REDIS: 13, VALKEY: 80 } as const;
/** Valkey counts from 80, so that its versions differ from all versions of Redis. */
const OLDEST = { REDIS: 1, VALKEY: 80 } as const;

/** @throws RdbCorrupt for other files and for versions that cannot be read */
export function parseHeader(bytes: Uint8Array): RdbHeader {
  const text = Buffer.from(bytes).toString("latin1");
  const match = /^(?:(REDIS)(\d{4})|(VALKEY)(\d{3}))$/.exec(text);
  if (match === null) throw new RdbCorrupt("the file does not begin with REDIS or VALKEY and a version", 0);
  const magic = match[1] === undefined ? "VALKEY" : "REDIS";
  const version = Number(match[2] ?? match[4]);
  if (version < OLDEST[magic] || version > NEWEST[magic])
    throw new RdbCorrupt(
      `version ${magic} ${version} cannot be read; known versions: REDIS 1 to ${NEWEST.REDIS} and VALKEY ${NEWEST.VALKEY}`,
      0,
    );
  return { magic, version };
}

export function formatHeader({ magic, version }: RdbHeader): Buffer {
  return Buffer.from(magic + String(version).padStart(HEADER_BYTES - magic.length, "0"), "latin1");
}
