/** Compares two RDB files key by key: database, key, TTL and value, independent of encodings and of the order of keys. */
import { createHash } from "node:crypto";
import { SLOT_COUNT } from "../topology/slots";
import { decodeValue } from "./decode";
import type { RdbKey } from "./rdb-key";
import type { HashScope } from "./value-hash";
import type { Value } from "./value";
import { hashValue } from "./value-hash";
import type { ByteSource } from "./walk";
import { walkRdb } from "./walk";

/** A key that differs. The first file has what is wanted, the second what was found. */
export interface Difference {
  readonly database: number;
  readonly key: Buffer;
  readonly kind: "missing" | "unexpected" | "different value" | "different TTL";
}

export interface Comparison {
  /** Number of keys of the first and of the second file, without expired keys. */
  readonly keys: readonly [wanted: number, found: number];
  /** Number of keys of the first file that have expired. They are not compared. */
  readonly expired: number;
  /** Number of keys that differ. */
  readonly differing: number;
  /** The first differences, by slot, at most as many as requested. */
  readonly first: readonly Difference[];
  /** Libraries of functions that only one of the files has: their first lines. */
  readonly libraries: readonly string[];
  readonly isEqual: boolean;
}

export interface CompareOptions {
  /** @default "all" */
  readonly scope?: HashScope | undefined;
  /**
   * Time until which keys and fields of hashes have expired, milliseconds since the epoch. Servers remove them at any
   * time, so they are left out of both files.
   * @default nothing has expired
   */
  readonly expiredBy?: number | undefined;
  /** Highest number of differences that are named. @default 10 */
  readonly limit?: number | undefined;
}

/** Digests of keys: one for each slot while reading a first time, one for each key of differing slots after that. */
interface Digests {
  readonly keys: number;
  readonly expired: number;
  readonly slots: Buffer[];
  readonly libraries: ReadonlySet<string>;
}

interface KeyDigest {
  readonly database: number;
  readonly key: Buffer;
  readonly expiresAt: number | undefined;
  readonly value: string;
}

const DIGEST_BYTES = 32;

/**
 * Compares two files. Each file is read once. If slots differ, both are read once more, and the digests of the keys of
 * these slots are in memory.
 * @param wanted opens the first file from its beginning
 * @param found opens the second file from its beginning
 * @throws RdbCorrupt for a damaged file, and errors of the sources
 */
export async function compareRdb(
  wanted: () => ByteSource,
  found: () => ByteSource,
  { limit = 10, scope = "all", expiredBy = -Infinity }: CompareOptions = {},
): Promise<Comparison> {
  const rules = { scope, expiredBy };
  const [a, b] = [await digestSlots(wanted(), rules), await digestSlots(found(), rules)];
  const libraries = [...a.libraries, ...b.libraries].filter(
    (code) => !(a.libraries.has(code) && b.libraries.has(code)),
  );
  const slots = new Set<number>();
  for (let slot = 0; slot < SLOT_COUNT; slot++) if (!sameDigest(a.slots[slot], b.slots[slot])) slots.add(slot);
  const differences = slots.size === 0 ? [] : await compareKeys(wanted(), found(), slots, rules);
  return {
    keys: [a.keys, b.keys],
    expired: a.expired,
    differing: differences.length,
    first: differences.slice(0, limit),
    libraries: libraries.map((code) => code.split("\n")[0] ?? ""),
    // A slot may differ without a key that differs: a file may have a key twice.
    isEqual: slots.size === 0 && libraries.length === 0,
  };
}

async function digestSlots(source: ByteSource, rules: Rules): Promise<Digests> {
  const slots: Buffer[] = [];
  const libraries = new Set<string>();
  const counts = await walkValues(source, rules, {
    functionLibrary: (code) => libraries.add(code.toString()),
    value: (key, value) => {
      const identity = Buffer.from(`${key.database} ${key.expiresAt ?? "none"} ${key.key.length} `);
      const digest = createHash("sha256").update(identity).update(key.key).update(value).digest();
      addDigest((slots[key.slot] ??= Buffer.alloc(DIGEST_BYTES)), digest);
    },
  });
  return { ...counts, slots, libraries };
}

async function compareKeys(
  wanted: ByteSource,
  found: ByteSource,
  slots: ReadonlySet<number>,
  rules: Rules,
): Promise<Difference[]> {
  const [a, b] = [await digestKeys(wanted, slots, rules), await digestKeys(found, slots, rules)];
  const differences: Difference[] = [];
  for (const [id, { database, key, expiresAt, value }] of a) {
    const other = b.get(id);
    b.delete(id);
    if (other === undefined) differences.push({ database, key, kind: "missing" });
    else if (other.value !== value) differences.push({ database, key, kind: "different value" });
    else if (other.expiresAt !== expiresAt) differences.push({ database, key, kind: "different TTL" });
  }
  for (const { database, key } of b.values()) differences.push({ database, key, kind: "unexpected" });
  return differences;
}

async function digestKeys(
  source: ByteSource,
  slots: ReadonlySet<number>,
  rules: Rules,
): Promise<Map<string, KeyDigest>> {
  const digests = new Map<string, KeyDigest>();
  await walkValues(source, rules, {
    isWanted: ({ slot }) => slots.has(slot),
    value: ({ database, key, expiresAt }, value) => {
      // The key is copied, because it is a part of a large piece of the file.
      const digest = { database, key: Buffer.from(key), expiresAt, value: value.toString("latin1") };
      digests.set(`${database} ${key.toString("latin1")}`, digest);
    },
  });
  return digests;
}

/** Rules of the comparison. */
interface Rules {
  readonly scope: HashScope;
  readonly expiredBy: number;
}

interface ValueVisitor {
  functionLibrary?(code: Buffer): void;
  isWanted?(key: RdbKey): boolean;
  value(key: RdbKey, hash: Buffer): void;
}

/** Walks over a file and decodes its values. One value at a time is in memory. */
async function walkValues(
  source: ByteSource,
  { scope, expiredBy }: Rules,
  visitor: ValueVisitor,
): Promise<{ readonly keys: number; readonly expired: number }> {
  let current: RdbKey | undefined;
  let pieces: Buffer[] = [];
  let [keys, expired] = [0, 0];
  /** Bytes of TTL, type and key, which precede the value. */
  let before = 0;
  await walkRdb(source, {
    functionLibrary: (code) => visitor.functionLibrary?.(code),
    key: (key) => {
      const isExpired = key.expiresAt !== undefined && key.expiresAt <= expiredBy;
      if (isExpired) expired++;
      current = isExpired || visitor.isWanted?.(key) === false ? undefined : key;
      pieces = [];
      before = key.valueOffset - key.offset;
    },
    keyBytes: (buffer, from, to) => {
      if (current === undefined) return;
      // The beginning of a key comes in one piece.
      if (before > 0) before -= to - from;
      else pieces.push(buffer.subarray(from, to));
    },
    keyEnd: () => {
      if (current === undefined) return;
      const bytes = pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces);
      const value = unexpiredPart(decodeValue(current.type, bytes), expiredBy);
      if (value === undefined) {
        expired++;
        return;
      }
      keys++;
      visitor.value(current, hashValue(value, scope));
    },
  });
  return { keys, expired };
}

/** A value without expired fields. Undefined for a hash whose fields have all expired: a server removes such a key. */
function unexpiredPart(value: Value, expiredBy: number): Value | undefined {
  if (value.kind !== "hash") return value;
  const fields = value.fields.filter(({ expiresAt = Infinity }) => expiresAt > expiredBy);
  return fields.length === 0 && value.fields.length > 0 ? undefined : { ...value, fields };
}

const EMPTY = Buffer.alloc(0);

/** Adds a digest to a sum of 256 bits, so that the order of keys does not matter and equal keys do not cancel out. */
function addDigest(sum: Buffer, digest: Buffer): void {
  let carry = 0;
  for (let index = 0; index < DIGEST_BYTES; index += 4) {
    const total = sum.readUInt32LE(index) + digest.readUInt32LE(index) + carry;
    carry = total >= 2 ** 32 ? 1 : 0;
    sum.writeUInt32LE(total >>> 0, index);
  }
}

function sameDigest(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}
