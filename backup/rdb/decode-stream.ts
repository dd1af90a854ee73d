import type { RdbCursor } from "./cursor";
import { readListpack } from "./packed";
import { RdbCorrupt } from "./rdb-corrupt";
import type { PendingEntry, StreamConsumer, StreamEntry, StreamGroup, StreamId, Value } from "./value";

type Stream = Extract<Value, { readonly kind: "stream" }>;

const FLAG = { deleted: 1, sameFields: 2 } as const;
const UNKNOWN_ENTRIES = 2n ** 64n - 1n;
const ZERO: StreamId = { ms: 0n, sequence: 0n };

/** @param version versions 1 and 2 lack some facts, which are derived as a server does that loads the stream */
export function decodeStream(cursor: RdbCursor, version: 1 | 2 | 3): Stream {
  const entries: StreamEntry[] = [];
  for (let rest = cursor.count(); rest > 0; rest--) {
    const first = cursor.string();
    if (first.length !== 16) throw new RdbCorrupt("a part of a stream has no ID");
    entries.push(...readEntries(readId(first), readListpack(cursor.string())));
  }
  const length = cursor.number();
  if (length !== BigInt(entries.length)) throw new RdbCorrupt("a stream has more or fewer entries than its length");
  const lastId = idOf(cursor);
  if (version > 1) idOf(cursor);
  const maxDeletedId = version > 1 ? idOf(cursor) : ZERO;
  const entriesAdded = version > 1 ? cursor.number() : length;
  const stream = { kind: "stream", entries, lastId, maxDeletedId, entriesAdded } as const;
  const groups: StreamGroup[] = [];
  for (let rest = cursor.count(); rest > 0; rest--) groups.push(readGroup(cursor, version, stream));
  return { ...stream, groups };
}

/** Their IDs are relative to `first`, and they may share the fields of the first entry. */
function readEntries(first: StreamId, elements: readonly Buffer[]): StreamEntry[] {
  let index = 0;
  const next = (): Buffer => {
    const element = elements[index++];
    if (element === undefined) throw new RdbCorrupt("an entry of a stream ends too early");
    return element;
  };
  const integer = (): bigint => {
    const text = next().toString("latin1");
    if (!/^-?\d{1,20}$/.test(text)) throw new RdbCorrupt("an entry of a stream has text in place of a number");
    return BigInt(text);
  };
  const several = (count: bigint): Buffer[] => {
    if (count < 0n || count > BigInt(elements.length)) throw new RdbCorrupt("an entry of a stream is damaged");
    return Array.from({ length: Number(count) }, next);
  };
  const all = integer() + integer();
  const shared = several(integer());
  next();
  const entries: StreamEntry[] = [];
  for (let rest = all; rest > 0n; rest--) {
    const flags = Number(integer());
    const id = { ms: wrapped(first.ms + integer()), sequence: wrapped(first.sequence + integer()) };
    const fields =
      (flags & FLAG.sameFields) === 0
        ? several(2n * integer())
        : several(BigInt(shared.length)).flatMap((value, at) => [shared[at] ?? value, value]);
    next();
    if ((flags & FLAG.deleted) === 0) entries.push({ id, fields });
  }
  if (index !== elements.length) throw new RdbCorrupt("a part of a stream is longer than its entries");
  return entries;
}

function readGroup(cursor: RdbCursor, version: 1 | 2 | 3, stream: Omit<Stream, "groups">): StreamGroup {
  const name = cursor.string();
  const lastId = idOf(cursor);
  const entriesRead = version > 1 ? cursor.number() : entriesReadBefore(stream, lastId);
  const undelivered = new Map<string, Omit<PendingEntry, "consumer">>();
  const order: string[] = [];
  for (let rest = cursor.count(); rest > 0; rest--) {
    const raw = cursor.bytes(16);
    const text = raw.toString("latin1");
    order.push(text);
    undelivered.set(text, { id: readId(raw), deliveredAt: cursor.time(), deliveries: cursor.number() });
  }
  const owned = new Map<string, PendingEntry>();
  const consumers: StreamConsumer[] = [];
  for (let rest = cursor.count(); rest > 0; rest--) {
    const consumer = cursor.string();
    const seenAt = cursor.time();
    consumers.push({ name: consumer, seenAt, activeAt: version === 3 ? cursor.time() : seenAt });
    for (let entries = cursor.count(); entries > 0; entries--) {
      const id = cursor.bytes(16).toString("latin1");
      const entry = undelivered.get(id);
      if (entry === undefined) throw new RdbCorrupt("a consumer has an entry that its group does not have");
      owned.set(id, { ...entry, consumer });
    }
  }
  const pending = order.map((id) => {
    const entry = owned.get(id);
    if (entry === undefined) throw new RdbCorrupt("a pending entry has no consumer");
    return entry;
  });
  return { name, lastId, entriesRead, pending, consumers };
}

/** Derived as a server does for version 1: known only at the beginning or at the end of the stream. */
function entriesReadBefore({ entries, lastId, entriesAdded }: Omit<Stream, "groups">, id: StreamId): bigint {
  if (entriesAdded === 0n) return 0n;
  const first = entries[0]?.id ?? ZERO;
  if (entries.length === 0 && compareIds(id, lastId) <= 0) return entriesAdded;
  if (compareIds(id, lastId) === 0) return entriesAdded;
  if (compareIds(id, lastId) > 0) return UNKNOWN_ENTRIES;
  const unread = entriesAdded - BigInt(entries.length);
  if (compareIds(id, first) < 0) return unread;
  return compareIds(id, first) === 0 ? unread + 1n : UNKNOWN_ENTRIES;
}

function compareIds(a: StreamId, b: StreamId): number {
  if (a.ms !== b.ms) return a.ms < b.ms ? -1 : 1;
  if (a.sequence !== b.sequence) return a.sequence < b.sequence ? -1 : 1;
  return 0;
}

const wrapped = (value: bigint): bigint => BigInt.asUintN(64, value);
const idOf = (cursor: RdbCursor): StreamId => ({ ms: cursor.number(), sequence: cursor.number() });
const readId = (bytes: Buffer): StreamId => ({ ms: bytes.readBigUInt64BE(0), sequence: bytes.readBigUInt64BE(8) });
