import { createHash } from "node:crypto";
import { type SlotRange, SLOT_COUNT } from "../../../valkey/topology/slots";
import type { RdbKey } from "../rdb-visitor";
import type { ByteSource } from "../walk";
import { type ValueRules, walkValues } from "./walk-values";

const DIGEST_BYTES = 32;

interface Difference {
  readonly database: number;
  readonly key: Buffer;
  readonly kind: "missing" | "unexpected" | "different value" | "different TTL";
}

export interface Comparison {
  /** Numbers of keys in the wanted data and in the found data, without expired keys. */
  readonly keys: readonly [wanted: number, found: number];
  /** They are not compared. */
  readonly expired: number;
  readonly differing: number;
  readonly first: readonly Difference[];
  readonly libraries: readonly string[];
  readonly isEqual: boolean;
}

export interface CompareOptions extends ValueRules {
  readonly limit?: number | undefined;
}

/** Data that servers should have. The files of all shards together have all wanted data. */
interface WantedFile {
  readonly open: () => ByteSource;
  readonly isWanted?: ((key: RdbKey) => boolean) | undefined;
  readonly shiftMs?: number | undefined;
}

interface FoundFile {
  readonly open: () => ByteSource;
  /** The file must have all wanted keys of these slots, and no keys of other slots. @default all slots */
  readonly ranges?: readonly SlotRange[] | undefined;
  /** Index of the wanted file whose libraries of functions it must have. @default those of all */
  readonly librariesOf?: number | undefined;
}

interface KeyDigest {
  readonly database: number;
  readonly key: Buffer;
  readonly expiresAt: number | undefined;
  readonly value: string;
}

const ALL_SLOTS: readonly SlotRange[] = [{ from: 0, to: SLOT_COUNT - 1 }];

/**
 * Each file is read once. If slots of a found file differ, it and all wanted files are read once more, and a digest of
 * each key of these slots is kept in memory.
 * @throws RdbCorrupt for a damaged file, and errors of the sources
 */
export async function compareRdbs(
  wanted: readonly WantedFile[],
  found: readonly FoundFile[],
  { limit = 10, ...rules }: CompareOptions = {},
): Promise<Comparison[]> {
  const a = new SlotDigests();
  const libraries: ReadonlySet<string>[] = [];
  for (const file of wanted) libraries.push(await digestSlots(a, file, rules));
  const comparisons: Comparison[] = [];
  for (const { open, ranges = ALL_SLOTS, librariesOf } of found) {
    const b = new SlotDigests();
    const foundLibraries = await digestSlots(b, { open }, rules);
    const wantedLibraries = new Set(
      libraries.filter((_, index) => index === (librariesOf ?? index)).flatMap((each) => [...each]),
    );
    const isOwn = new Uint8Array(SLOT_COUNT);
    for (const { from, to } of ranges) isOwn.fill(1, from, to + 1);
    const slots = new Set<number>();
    for (let slot = 0; slot < SLOT_COUNT; slot++)
      if (isOwn[slot] === 1 ? !a.hasSame(b, slot) : b.keys[slot] !== 0) slots.add(slot);
    const own = wanted.map((file) => ({
      ...file,
      isWanted: (key: RdbKey) => isOwn[key.slot] === 1 && file.isWanted?.(key) !== false,
    }));
    const differences = slots.size === 0 ? [] : await compareKeys(own, { open }, slots, rules);
    const differing = [
      ...[...wantedLibraries].filter((code) => !foundLibraries.has(code)),
      ...[...foundLibraries].filter((code) => !wantedLibraries.has(code)),
    ];
    comparisons.push({
      keys: [a.count(a.keys, ranges), b.count(b.keys, ALL_SLOTS)],
      expired: a.count(a.expired, ranges),
      differing: differences.length,
      first: differences.slice(0, limit),
      libraries: differing.map((code) => code.split("\n")[0] ?? ""),
      // A slot may differ without a key that differs: a file may have a key twice.
      isEqual: slots.size === 0 && differing.length === 0,
    });
  }
  return comparisons;
}

async function digestSlots(digests: SlotDigests, file: WantedFile, rules: ValueRules): Promise<ReadonlySet<string>> {
  const libraries = new Set<string>();
  await walkValues(file.open(), rules, {
    shiftMs: file.shiftMs,
    isWanted: file.isWanted,
    functionLibrary: (code) => libraries.add(code.toString()),
    expired: ({ slot }) => {
      digests.expired[slot] = (digests.expired[slot] ?? 0) + 1;
    },
    value: (key, expiresAt, value) => {
      const identity = Buffer.from(`${key.database} ${expiresAt ?? "none"} ${key.key.length} `);
      digests.add(key.slot, createHash("sha256").update(identity).update(key.key).update(value).digest());
    },
  });
  return libraries;
}

async function compareKeys(
  wanted: readonly WantedFile[],
  found: WantedFile,
  slots: ReadonlySet<number>,
  rules: ValueRules,
): Promise<Difference[]> {
  const [a, b] = [new Map<string, KeyDigest>(), new Map<string, KeyDigest>()];
  for (const file of wanted) await digestKeys(a, file, slots, rules);
  await digestKeys(b, found, slots, rules);
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
  digests: Map<string, KeyDigest>,
  file: WantedFile,
  slots: ReadonlySet<number>,
  rules: ValueRules,
): Promise<void> {
  await walkValues(file.open(), rules, {
    shiftMs: file.shiftMs,
    isWanted: (key) => slots.has(key.slot) && file.isWanted?.(key) !== false,
    value: ({ database, key }, expiresAt, value) => {
      // The key is copied, because it is a part of a large piece of the file.
      const digest = { database, key: Buffer.from(key), expiresAt, value: value.toString("latin1") };
      digests.set(`${database} ${key.toString("latin1")}`, digest);
    },
  });
}

class SlotDigests {
  readonly keys = new Float64Array(SLOT_COUNT);
  readonly expired = new Float64Array(SLOT_COUNT);
  readonly #sums = Buffer.alloc(SLOT_COUNT * DIGEST_BYTES);

  /** As numbers of 256 bits, so that the order of keys does not matter and equal keys do not cancel out. */
  add(slot: number, digest: Buffer): void {
    this.keys[slot] = (this.keys[slot] ?? 0) + 1;
    const at = slot * DIGEST_BYTES;
    let carry = 0;
    for (let index = 0; index < DIGEST_BYTES; index += 4) {
      const total = this.#sums.readUInt32LE(at + index) + digest.readUInt32LE(index) + carry;
      carry = total >= 2 ** 32 ? 1 : 0;
      this.#sums.writeUInt32LE(total >>> 0, at + index);
    }
  }

  hasSame(other: SlotDigests, slot: number): boolean {
    return this.keys[slot] === other.keys[slot] && this.#sumOf(slot).equals(other.#sumOf(slot));
  }

  count(numbers: Float64Array, ranges: readonly SlotRange[]): number {
    let sum = 0;
    for (const { from, to } of ranges) for (let slot = from; slot <= to; slot++) sum += numbers[slot] ?? 0;
    return sum;
  }

  #sumOf(slot: number): Buffer {
    return this.#sums.subarray(slot * DIGEST_BYTES, (slot + 1) * DIGEST_BYTES);
  }
}
