import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeValue } from "../../../backup/rdb/decode";
import { decompressLzf } from "../../../backup/rdb/cursor";
import { encodeString } from "../../../backup/rdb/lengths";
import { readIntset, readListpack, readZiplist, readZipmap } from "../../../backup/rdb/packed";
import { RdbCorrupt } from "../../../backup/rdb/rdb-corrupt";
import { TYPE } from "../../../backup/rdb/rdb-format";
import type { Value } from "../../../backup/rdb/value";
import { type HashScope, hashValue } from "../../../backup/rdb/comparing/value-hash";
import { bytes, eight, length, listpack, text, ziplist } from "../../support/valkey/rdb-bytes";
import { forAll } from "../../support/properties";

const words = (elements: readonly Buffer[]): string[] => elements.map((element) => element.toString("latin1"));
const blob = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

describe("old encodings, which servers of today only load", () => {
  it("reads the ziplist that ziplist.c explains, and all its integers", () => {
    expect(words(readZiplist(blob("0f000000 0c000000 0200 00f3 02f6 ff")))).toEqual(["2", "5"]);
    const integers = ["fe80", "c00080", "f0000080", "d000000080", "e00000000000000080", "fd"].map(blob);
    expect(words(readZiplist(ziplist(...integers)))).toEqual([
      "-128",
      "-32768",
      "-8388608",
      "-2147483648",
      "-9223372036854775808",
      "12",
    ]);
    const strings = [
      Buffer.concat([bytes(3), Buffer.from("abc")]),
      Buffer.concat([bytes(0x40, 200), Buffer.alloc(200, 98)]),
    ];
    expect(words(readZiplist(ziplist(...strings)))).toEqual(["abc", "b".repeat(200)]);
  });

  it("reads the zipmap that zipmap.c explains", () => {
    const zipmap = Buffer.from("\x02\x03foo\x03\x00bar\x05hello\x05\x00world\xff", "latin1");
    expect(words(readZipmap(zipmap))).toEqual(["foo", "bar", "hello", "world"]);
    expect(() => readZipmap(zipmap.subarray(0, -1))).toThrow(RdbCorrupt);
  });

  it("reads intsets of each width", () => {
    expect(words(readIntset(blob("02000000 02000000 feff 0500")))).toEqual(["-2", "5"]);
    expect(words(readIntset(blob("08000000 01000000 ffffffffffffff7f")))).toEqual(["9223372036854775807"]);
  });

  it("gives a list, a hash and a sorted set the same values as in new encodings", () => {
    const same = (...values: readonly [type: number, bytes: Buffer][]): void => {
      const hashes = values.map(([type, value]) => hashValue(decodeValue(type, value)).toString("hex"));
      expect(new Set(hashes)).toEqual(new Set([hashes[0]]));
    };
    const string = (value: string): Buffer => Buffer.concat([bytes(value.length), Buffer.from(value)]);
    const old = encodeString(ziplist(string("a"), bytes(0xf3)));
    same(
      [TYPE.list, Buffer.concat([length(2), text("a"), text("2")])],
      [TYPE.listZiplist, old],
      [TYPE.listQuicklist, Buffer.concat([length(1), old])],
      [TYPE.listQuicklist2, Buffer.concat([length(2), length(1), text("a"), length(2), encodeString(listpack(2))])],
    );
    same(
      [TYPE.hash, Buffer.concat([length(1), text("a"), text("2")])],
      [TYPE.hashZiplist, old],
      [TYPE.hashListpack, encodeString(listpack("a", 2))],
      [TYPE.hashZipmap, encodeString(Buffer.from("\x01\x01a\x01\x002\xff", "latin1"))],
      [TYPE.hashFieldTtls, Buffer.concat([length(1), text("a"), text("2"), eight(-1)])],
      [TYPE.redisHashListpack, Buffer.concat([eight(0), encodeString(listpack("a", 2, 0))])],
    );
    const two = Buffer.alloc(8);
    two.writeDoubleLE(2);
    same(
      [TYPE.sortedSet, Buffer.concat([length(1), text("a"), two])],
      [TYPE.sortedSetText, Buffer.concat([length(1), text("a"), bytes(1, 0x32)])],
      [TYPE.sortedSetZiplist, old],
      [TYPE.sortedSetListpack, encodeString(listpack("a", 2))],
    );
    same(
      [TYPE.set, Buffer.concat([length(2), text("5"), text("-2")])],
      [TYPE.setIntset, encodeString(blob("02000000 02000000 feff 0500"))],
    );
  });
});

describe("damaged values", () => {
  const LZF = encodeString(bytes(0x00, 0x61, 0xe0, 0x00, 0x00));

  it("give an error and do not hang, whatever the bytes", () => {
    const types = Object.values(TYPE).filter((type) => type !== TYPE.moduleOfReleaseCandidate && type !== TYPE.module);
    forAll([fc.constantFrom(...types), fc.uint8Array({ maxLength: 200 })], { numRuns: 3000 }, (type, random) => {
      try {
        decodeValue(type, Buffer.from(random));
      } catch (error) {
        expect(error).toBeInstanceOf(RdbCorrupt);
      }
    });
    for (const read of [readListpack, readZiplist, readIntset, readZipmap])
      for (const valid of [listpack("abc", 5, "d"), ziplist(Buffer.from("\x03abc"))])
        forAll([fc.nat(valid.length - 1), fc.nat(255)], (place, value) => {
          const damaged = Buffer.from(valid);
          damaged[place] = value;
          try {
            read(damaged);
          } catch (error) {
            expect(error).toBeInstanceOf(RdbCorrupt);
          }
        });
  });

  it("of LZF are refused", () => {
    expect(decompressLzf(bytes(0x00, 0x61, 0xe0, 0x00, 0x00), 10).toString()).toBe("a".repeat(10));
    for (const [input, size] of [
      [bytes(0x00, 0x61), 2],
      [bytes(0x05, 0x61), 6],
      [bytes(0xe0), 9],
      [bytes(0x20, 0x05), 3],
      [bytes(1), 10 ** 9],
    ] as const)
      expect(() => decompressLzf(input, size)).toThrow(RdbCorrupt);
    expect(LZF.length).toBe(6);
  });
});

describe("hashes of values", () => {
  const group = { name: Buffer.from("g"), lastId: { ms: 1n, sequence: 0n }, entriesRead: 1n };
  const id = { ms: 1n, sequence: 0n };
  const pending = { id, consumer: Buffer.from("c"), deliveredAt: 5, deliveries: 1n };
  const consumer = { name: Buffer.from("c"), seenAt: 5, activeAt: 5 };
  const stream = { kind: "stream", lastId: id, maxDeletedId: id, entriesAdded: 1n } as const;
  const streamOf = (change: object, groupChange: object = {}): Value => ({
    ...stream,
    entries: [{ id, fields: [Buffer.from("f"), Buffer.from("v")] }],
    groups: [{ ...group, pending: [pending], consumers: [consumer], ...groupChange }],
    ...change,
  });
  const hash = (...fields: readonly [string, string, number?][]): Value => ({
    kind: "hash",
    fields: fields.map(([field, value, expiresAt]) => ({
      field: Buffer.from(field),
      value: Buffer.from(value),
      expiresAt,
    })),
  });

  it("do not depend on the order of fields", () => {
    expect(hashValue(hash(["a", "1"], ["b", "2", 5]))).toEqual(hashValue(hash(["b", "2", 5], ["a", "1"])));
  });

  it("differ for each small change", () => {
    const values: Value[] = [
      hash(["a", "1"]),
      hash(["a", "1", 5]),
      hash(["a", "1", 6]),
      hash(["a1", ""]),
      hash(["", "a1"]),
      { kind: "string", value: Buffer.from("a") },
      { kind: "list", elements: [Buffer.from("a")] },
      { kind: "list", elements: [Buffer.from("a"), Buffer.from("a")] },
      { kind: "set", members: [Buffer.from("a")] },
      { kind: "sorted set", members: [{ member: Buffer.from("a"), score: 1 }] },
      { kind: "sorted set", members: [{ member: Buffer.from("a"), score: 1.0000000000000002 }] },
      streamOf({}),
      streamOf({ entriesAdded: 2n }),
      streamOf({ maxDeletedId: { ms: 0n, sequence: 0n } }),
      streamOf({ groups: [] }),
      streamOf({}, { entriesRead: 2n }),
      streamOf({}, { pending: [{ ...pending, deliveries: 2n }] }),
      streamOf({}, { pending: [{ ...pending, deliveredAt: 6 }] }),
      streamOf({}, { consumers: [consumer, { ...consumer, name: Buffer.from("d") }] }),
      streamOf({}, { consumers: [{ ...consumer, seenAt: 6 }] }),
      streamOf({}, { consumers: [{ ...consumer, activeAt: 6 }] }),
    ];
    const distinct = (scope: HashScope): number =>
      new Set(values.map((value) => hashValue(value, scope).toString("hex"))).size;
    expect(distinct("all")).toBe(values.length);
    // Servers do not replicate the two times of a consumer.
    expect(distinct("replicated")).toBe(values.length - 2);
    // The stream of a server may lack entriesRead and consumers without a pending entry.
    expect(distinct("source")).toBe(values.length - 4);
  });
});
