import { RdbCursor, parseScore } from "./cursor";
import { decodeStream } from "./decode-stream";
import { readIntset, readListpack, readZiplist, readZipmap } from "./packed";
import { RdbCorrupt } from "./rdb-corrupt";
import { TYPE } from "./rdb-format";
import type { HashField, SortedSetMember, Value } from "./value";

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
