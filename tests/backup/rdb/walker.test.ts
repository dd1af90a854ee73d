import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPCODE, TYPE } from "../../../backup/rdb/rdb-format";
import type { RdbVisitor } from "../../../backup/rdb/rdb-visitor";
import { RdbWalker } from "../../../backup/rdb/walker";
import { decodeValue } from "../../../backup/rdb/decode";
import { bytes, eight, entry, length, listpack, rdbFile, text } from "../../support/valkey/rdb-bytes";
import { forAll } from "../../support/properties";

const STREAM = Buffer.concat([
  ...[length(1), length(16), Buffer.alloc(16, 1)],
  ...[length(listpack(1, 0, 1, "f", 0, 2, 0, 0, "v", 4).length), listpack(1, 0, 1, "f", 0, 2, 0, 0, "v", 4)],
  ...[1, 7, 8, 0, 0, 0, 0, 1].map(length),
  // One group with one pending entry of one consumer.
  ...[length(1), text("g"), length(7), length(8), length(1)],
  ...[length(1), Buffer.alloc(16, 1), eight(99), length(3)],
  ...[length(1), text("c"), eight(98), eight(97), length(1), Buffer.alloc(16, 1)],
]);

const FILE = rdbFile(
  "VALKEY080",
  ...[bytes(OPCODE.aux), text("valkey-ver"), text("9.1.2")],
  ...[
    bytes(OPCODE.moduleAux),
    length(2 ** 40),
    ...[2, 1, 5].map(length),
    text("module"),
    ...[4].map(length),
    eight(0),
    length(0),
  ],
  ...[bytes(OPCODE.function), text("#!lua name=lib")],
  ...[bytes(OPCODE.slotImport), text("a".repeat(40)), length(1), length(5), length(9000)],
  ...[bytes(OPCODE.selectDatabase), length(0), bytes(OPCODE.resizeDatabase), length(9), length(1)],
  ...[bytes(OPCODE.slotInfo), length(1), length(2), length(3)],
  bytes(OPCODE.expireMs),
  eight(1_900_000_000_123),
  bytes(OPCODE.frequency, 7),
  entry(TYPE.string, "plain", text("x".repeat(300))),
  bytes(OPCODE.idle),
  length(100),
  entry(TYPE.string, "number", bytes(0xc1, 0x39, 0x30)),
  entry(TYPE.string, "compressed", bytes(0xc3, 4, 10, 0x00, 0x61, 0xe0, 0x00, 0x00).subarray(0, 3 + 4)),
  ...[bytes(OPCODE.selectDatabase), length(3)],
  bytes(OPCODE.expireSeconds),
  bytes(1, 0, 0, 0),
  entry(
    TYPE.hashFieldTtls,
    "hash",
    Buffer.concat([length(2), text("a"), text("1"), eight(-1), text("b"), text("2"), eight(5)]),
  ),
  entry(TYPE.stream3, "stream", STREAM),
  entry(
    TYPE.sortedSetText,
    "old",
    Buffer.concat([length(2), text("a"), bytes(3, 0x31, 0x2e, 0x35), text("b"), bytes(254)]),
  ),
  entry(
    TYPE.module,
    "module",
    Buffer.concat([length(2 ** 40), ...[1, 5, 3].map(length), bytes(1, 2, 3, 4), length(0)]),
  ),
);

/** All that a walk finds, as text. */
function walk(pieces: readonly Buffer[]): string[] {
  const found: string[] = [];
  let copied: Buffer[] = [];
  const visitor: RdbVisitor = {
    header: ({ magic, version }) => found.push(`${magic} ${version}`),
    aux: (name, value) => found.push(`aux ${name.toString()} ${value.toString()}`),
    functionLibrary: (code) => found.push(`function ${code.toString()}`),
    slotImport: (ranges) => found.push(`import ${JSON.stringify(ranges)}`),
    moduleAux: () => found.push("module"),
    key: ({ key, database, type, expiresAt, idleSeconds, frequency, offset, valueOffset, slot }) =>
      found.push([key.toString(), database, type, expiresAt, idleSeconds, frequency, offset, valueOffset, slot].join()),
    keyBytes: (buffer, from, to) => copied.push(Buffer.from(buffer.subarray(from, to))),
    keyEnd: (end) => {
      found.push(`${end} ${Buffer.concat(copied).toString("hex")}`);
      copied = [];
    },
  };
  const walker = new RdbWalker(visitor);
  for (const piece of pieces) walker.push(piece);
  return [...found, JSON.stringify(walker.finish())];
}

const cut = (file: Buffer, ...places: readonly number[]): Buffer[] => {
  const all = [0, ...[...places].sort((a, b) => a - b), file.length];
  return all.slice(1).map((end, index) => file.subarray(all[index], end));
};

describe("a walk over an RDB file", () => {
  it("finds keys with their TTLs, databases, slots and places", () => {
    const found = walk([FILE]);
    expect(found.filter((line) => !/^\d+ /.test(line))).toMatchInlineSnapshot(`
      [
        "VALKEY 80",
        "aux valkey-ver 9.1.2",
        "module",
        "function #!lua name=lib",
        "import [{"from":5,"to":9000}]",
        "plain,0,0,1900000000123,,7,128,146,7143",
        "number,0,0,,100,,448,459,7743",
        "compressed,0,0,,,,462,474,12623",
        "hash,3,22,1000,,,483,494,238",
        "stream,3,21,,,,519,527,1386",
        "old,3,3,,,,651,656,5439",
        "module,3,7,,,,666,674,16353",
        "{"header":{"magic":"VALKEY","version":80},"keys":7,"bytes":700,"hasChecksum":true}",
      ]
    `);
    const [, raw = ""] = found.find((line) => line.includes(Buffer.from("stream").toString("hex")))?.split(" ") ?? [];
    expect(raw).toBe(entry(TYPE.stream3, "stream", STREAM).toString("hex"));
  });

  it("finds the same in two pieces, wherever they meet, and byte by byte", () => {
    const whole = walk([FILE]);
    for (let place = 0; place <= FILE.length; place++) expect(walk(cut(FILE, place))).toEqual(whole);
    expect(walk([...FILE].map((byte) => Buffer.from([byte])))).toEqual(whole);
    forAll([fc.array(fc.nat(FILE.length), { maxLength: 20 })], (places) => {
      expect(walk(cut(FILE, ...places))).toEqual(whole);
    });
  });

  it("refuses each truncated file, each damaged byte and bytes after the end", () => {
    for (let end = 0; end < FILE.length; end++)
      expect(() => walk([FILE.subarray(0, end)])).toThrow(/too early|cannot|header|begin/);
    for (let place = 0; place < FILE.length; place++) {
      for (const change of [1, 0x80, 0xff]) {
        const damaged = Buffer.from(FILE);
        damaged[place] = (damaged[place] ?? 0) ^ change;
        expect(() => walk([damaged]), `byte ${place} ^ ${change}`).toThrow(/^RDB/);
      }
    }
    expect(() => walk([FILE, bytes(1)])).toThrow(/bytes follow/);
  });

  it("ends with an error, and does not hang, for bytes at random", () => {
    forAll([fc.uint8Array({ maxLength: 300 })], { numRuns: 500 }, (random) => {
      expect(() => walk([Buffer.concat([Buffer.from("REDIS0011"), random])])).toThrow(/^RDB/);
    });
  });

  it("knows the versions REDIS 1 to 13 and VALKEY 80, and no others", () => {
    for (const header of ["REDIS0001", "REDIS0004", "REDIS0005", "REDIS0013", "VALKEY080"])
      expect(walk([rdbFile(header)])).toHaveLength(2);
    for (const header of ["REDIS0000", "REDIS0014", "REDIS0080", "VALKEY011", "VALKEY079", "VALKEY081", "MOUSE0001"])
      expect(() => walk([rdbFile(header)])).toThrow(/cannot be read|does not begin/);
  });

  it("says whether there is a checksum: none before version 5, zeros from servers without it", () => {
    const last = (file: Buffer): unknown => JSON.parse(walk([file]).at(-1) ?? "");
    expect(last(rdbFile("REDIS0004"))).toMatchObject({ hasChecksum: false });
    expect(last(Buffer.concat([Buffer.from("REDIS0011\xff", "latin1"), Buffer.alloc(8)]))).toMatchObject({
      hasChecksum: false,
    });
    expect(last(rdbFile("REDIS0011"))).toMatchObject({ hasChecksum: true });
  });

  it("does not take a type of Redis 7.4 for one of Valkey 9", () => {
    const value = Buffer.concat([
      eight(1000),
      length(2),
      length(0),
      text("a"),
      text("1"),
      length(11),
      text("b"),
      text("2"),
    ]);
    const types: number[] = [];
    const walker = new RdbWalker({ key: ({ type }) => types.push(type) });
    walker.push(rdbFile("REDIS0012", entry(24, "hash", value)));
    walker.finish();
    expect(types).toEqual([TYPE.redisHashMetadata]);
    expect(decodeValue(TYPE.redisHashMetadata, value)).toMatchObject({
      fields: [{ expiresAt: undefined }, { expiresAt: 1010 }],
    });
    expect(() => walk([rdbFile("VALKEY080", entry(24, "hash", value))])).toThrow("unknown type or opcode 24");
    expect(() => walk([rdbFile("REDIS0013", entry(26, "stream", value))])).toThrow(
      "type or opcode 26 in a file of Redis",
    );
  });
});
