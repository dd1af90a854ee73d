import { RdbCursor, parseScore } from "./cursor";
import { readIntset, readListpack, readZiplist, readZipmap } from "./packed";
import { RdbCorrupt } from "./rdb-corrupt";
import { TYPE } from "./rdb-format";
import type {
  HashField,
  SortedSetMember,
  Value,
  PendingEntry,
  StreamConsumer,
  StreamEntry,
  StreamGroup,
  StreamId,
} from "./value";

/** Kinds of nodes of a quicklist: `plain` is a single element, `packed` is a listpack with elements. */
const NODE = { plain: 1, packed: 2 } as const;
/** Time that files of Valkey have for a hash field without a TTL. */
const NO_TTL = -1;

/** @param bytes the whole value, without TTL, type and key @throws RdbCorrupt for damaged and unknown values */
export function decodeValue(type: number, bytes: Buffer): Value {
  const cursor = new RdbCursor(bytes);
  const value = decode(type, cursor);
  if (cursor.at !== bytes.length) throw new RdbCorrupt("a value is longer than its content");
  return value;
}

function decode(type: number, cursor: RdbCursor): Value {
  switch (type) {
    case TYPE.string:
      return { kind: "string", value: cursor.string() };
    case TYPE.list:
      return { kind: "list", elements: times(cursor, () => cursor.string()) };
    case TYPE.listZiplist:
      return { kind: "list", elements: readZiplist(cursor.string()) };
    case TYPE.listQuicklist:
      return { kind: "list", elements: times(cursor, () => readZiplist(cursor.string())).flat() };
    case TYPE.listQuicklist2:
      return { kind: "list", elements: times(cursor, () => readNode(cursor)).flat() };
    case TYPE.set:
      return { kind: "set", members: times(cursor, () => cursor.string()) };
    case TYPE.setIntset:
      return { kind: "set", members: readIntset(cursor.string()) };
    case TYPE.setListpack:
      return { kind: "set", members: readListpack(cursor.string()) };
    case TYPE.sortedSet:
      return sortedSet(times(cursor, () => ({ member: cursor.string(), score: cursor.double() })));
    case TYPE.sortedSetText:
      return sortedSet(times(cursor, () => ({ member: cursor.string(), score: cursor.score() })));
    case TYPE.sortedSetZiplist:
      return sortedSet(pairs(readZiplist(cursor.string())).map(scored));
    case TYPE.sortedSetListpack:
      return sortedSet(pairs(readListpack(cursor.string())).map(scored));
    case TYPE.stream1:
    case TYPE.stream2:
    case TYPE.stream3:
      return decodeStream(cursor, type === TYPE.stream1 ? 1 : type === TYPE.stream2 ? 2 : 3);
    case TYPE.module:
      return { kind: "module", bytes: cursor.bytes(cursor.end) };
    default:
      return { kind: "hash", fields: decodeHash(type, cursor) };
  }
}

function decodeHash(type: number, cursor: RdbCursor): HashField[] {
  switch (type) {
    case TYPE.hash:
      return times(cursor, () => withoutTtl([cursor.string(), cursor.string()]));
    case TYPE.hashZipmap:
      return pairs(readZipmap(cursor.string())).map(withoutTtl);
    case TYPE.hashZiplist:
      return pairs(readZiplist(cursor.string())).map(withoutTtl);
    case TYPE.hashListpack:
      return pairs(readListpack(cursor.string())).map(withoutTtl);
    case TYPE.hashFieldTtls:
      return times(cursor, () => {
        const [field, value, time] = [cursor.string(), cursor.string(), cursor.time()];
        return { field, value, expiresAt: time === NO_TTL ? undefined : time };
      });
    case TYPE.redisHashAbsolute:
      return redisFields(cursor, (time) => time);
    case TYPE.redisHashMetadata: {
      // TTLs are relative to the earliest one, plus one, because 0 stands for no TTL.
      const earliest = cursor.time();
      return redisFields(cursor, (time) => earliest + time - 1);
    }
    case TYPE.redisHashListpack:
      cursor.time();
      return triples(readListpack(cursor.string()));
    case TYPE.redisHashListpackAbsolute:
      return triples(readListpack(cursor.string()));
    default:
      throw new RdbCorrupt(`values of type ${type} cannot be decoded`);
  }
}

function redisFields(cursor: RdbCursor, timeOf: (time: number) => number): HashField[] {
  return times(cursor, () => {
    const [time, field, value] = [Number(cursor.number()), cursor.string(), cursor.string()];
    return { field, value, expiresAt: time === 0 ? undefined : timeOf(time) };
  });
}

function triples(elements: readonly Buffer[]): HashField[] {
  if (elements.length % 3 !== 0) throw new RdbCorrupt("a hash has a field without a TTL");
  return Array.from({ length: elements.length / 3 }, (_, index) => {
    const [field = EMPTY, value = EMPTY, time = EMPTY] = elements.slice(3 * index);
    const expiresAt = Number(time.toString("latin1"));
    return { field, value, expiresAt: expiresAt === 0 ? undefined : expiresAt };
  });
}

const EMPTY = Buffer.alloc(0);

function readNode(cursor: RdbCursor): Buffer[] {
  const container = Number(cursor.number());
  const bytes = cursor.string();
  if (container === NODE.plain) return [bytes];
  if (container !== NODE.packed) throw new RdbCorrupt(`a list has a node of the unknown kind ${container}`);
  return readListpack(bytes);
}

function sortedSet(members: readonly SortedSetMember[]): Value {
  if (members.some(({ score }) => Number.isNaN(score))) throw new RdbCorrupt("a score is not a number");
  return { kind: "sorted set", members };
}

const withoutTtl = ([field, value]: readonly [Buffer, Buffer]): HashField => ({ field, value, expiresAt: undefined });
const scored = ([member, score]: readonly [Buffer, Buffer]): SortedSetMember => ({ member, score: parseScore(score) });

function pairs(elements: readonly Buffer[]): [Buffer, Buffer][] {
  const result: [Buffer, Buffer][] = [];
  for (let index = 0; index < elements.length; index += 2) {
    const [first, second] = [elements[index], elements[index + 1]];
    if (first === undefined || second === undefined) throw new RdbCorrupt("a value has an odd number of elements");
    result.push([first, second]);
  }
  return result;
}

function times<T>(cursor: RdbCursor, read: () => T): T[] {
  const result: T[] = [];
  for (let rest = cursor.count(); rest > 0; rest--) result.push(read());
  return result;
}

type Stream = Extract<Value, { readonly kind: "stream" }>;

const FLAG = { deleted: 1, sameFields: 2 } as const;
const UNKNOWN_ENTRIES = 2n ** 64n - 1n;
const ZERO: StreamId = { ms: 0n, sequence: 0n };

/** @param version versions 1 and 2 lack some facts, which are derived as a server does that loads the stream */
function decodeStream(cursor: RdbCursor, version: 1 | 2 | 3): Stream {
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
