import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { Comparison, CompareOptions } from "../../../backup/rdb/comparing/compare";
import { compareRdb } from "../../support/valkey/compare-rdb";
import { encodeString } from "../../../backup/rdb/lengths";
import { OPCODE, TYPE } from "../../../backup/rdb/rdb-format";
import { bytes, eight, entry, length, listpack, rdbFile, text } from "../../support/valkey/rdb-bytes";

const database = (number: number): Buffer => Buffer.concat([bytes(OPCODE.selectDatabase), length(number)]);
const expiring = (time: number, record: Buffer): Buffer => Buffer.concat([bytes(OPCODE.expireMs), eight(time), record]);
const string = (key: string, value: string): Buffer => entry(TYPE.string, key, text(value));
const library = (code: string): Buffer => Buffer.concat([bytes(OPCODE.function), text(code)]);
const RECORDS = [
  library("#!lua name=a\ncode"),
  database(0),
  string("a", "1"),
  expiring(5, string("b", "2")),
  database(1),
  string("a", "3"),
];

/** @param size size of the pieces in which the files arrive */
function compare(
  first: readonly Buffer[],
  second: readonly Buffer[],
  size = 7,
  { header = "REDIS0010", ...options }: CompareOptions & { readonly header?: string } = {},
): Promise<Comparison> {
  const open = (header: string, records: readonly Buffer[]) => () => {
    const file = rdbFile(header, ...records);
    const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, index) =>
      file.subarray(size * index, size * (index + 1)),
    );
    return Readable.from(pieces) as AsyncIterable<Buffer>;
  };
  return compareRdb(open(header, first), open("VALKEY080", second), options);
}

const named = ({ first }: Comparison): string[] =>
  first.map(({ database: number, key, kind }) => `${number} ${key.toString()}: ${kind}`);

it("finds files equal whose keys have a different order and encoding", async () => {
  const hash = [
    entry(TYPE.hash, "h", Buffer.concat([length(1), text("f"), text("5")])),
    entry(TYPE.hashListpack, "h", encodeString(listpack("f", 5))),
  ];
  const [, , a, b, , c] = RECORDS;
  if (a === undefined || b === undefined || c === undefined) throw new Error("there are six records");
  const reordered = [database(1), c, database(0), b, a, ...RECORDS.slice(0, 1)];
  for (const size of [1, 7, 1000]) {
    expect(
      await compare(
        [...RECORDS, ...hash.slice(0, 1)],
        [...reordered.slice(0, 2), ...hash.slice(1), ...reordered.slice(2)],
        size,
      ),
    ).toEqual({
      keys: [4, 4],
      expired: 0,
      differing: 0,
      first: [],
      libraries: [],
      isEqual: true,
    });
  }
});

it("names each single change", async () => {
  const change = async (index: number, ...records: readonly Buffer[]): Promise<Comparison> =>
    compare(RECORDS, [...RECORDS.slice(0, index), ...records, ...RECORDS.slice(index + 1)]);
  expect(named(await change(2, string("a", "2")))).toEqual(["0 a: different value"]);
  expect(named(await change(2))).toEqual(["0 a: missing"]);
  expect(named(await change(3, expiring(6, string("b", "2"))))).toEqual(["0 b: different TTL"]);
  expect(named(await change(3, string("b", "2")))).toEqual(["0 b: different TTL"]);
  expect(named(await change(5, string("a", "3"), string("c", "")))).toEqual(["1 c: unexpected"]);
  expect(named(await change(4, database(2)))).toEqual(["1 a: missing", "2 a: unexpected"]);
  const libraries = await change(0, library("#!lua name=a\nother"));
  expect([libraries.isEqual, libraries.libraries]).toEqual([false, ["#!lua name=a", "#!lua name=a"]]);
});

it("finds files different when one has a key twice, although no key differs", async () => {
  const twice = [database(0), string("a", "1"), string("a", "1")];
  const found = await compare([database(0), string("a", "1")], twice);
  expect(found).toMatchObject({ isEqual: false, differing: 0 });
});

it("counts all differences, and names as many as requested", async () => {
  const many = Array.from({ length: 30 }, (_, index) => string(`key-${index}`, "x"));
  const result = await compare([], many);
  expect([result.differing, result.first.length, result.isEqual]).toEqual([30, 10, false]);
});

it("leaves out keys and fields that have expired, in both files", async () => {
  const hash = (
    key: string,
    ...fields: readonly (readonly [name: string, value: string, expiresAt: number])[]
  ): Buffer =>
    entry(
      TYPE.hashFieldTtls,
      key,
      Buffer.concat([
        length(fields.length),
        ...fields.flatMap(([name, value, expiresAt]) => [text(name), text(value), eight(expiresAt)]),
      ]),
    );
  const wanted = [expiring(100, string("old", "1")), expiring(101, string("new", "2")), string("stays", "3")];
  const hashes = [hash("part", ["f", "1", 100], ["g", "2", 200]), hash("gone", ["f", "1", 50])];
  const found = [expiring(101, string("new", "2")), string("stays", "3"), hash("part", ["g", "2", 200])];
  const result = await compare([...wanted, ...hashes], found, 7, { expiredBy: 100, header: "VALKEY080" });
  expect(result).toMatchObject({ isEqual: true, keys: [3, 3], expired: 2 });
  const later = [...found, expiring(99, string("late", "x"))];
  expect(await compare([...wanted, ...hashes], later, 7, { expiredBy: 100, header: "VALKEY080" })).toMatchObject({
    isEqual: true,
  });
  const missing = await compare([...wanted, ...hashes], found, 7, { expiredBy: 99, header: "VALKEY080" });
  expect(named(missing)).toEqual(["0 old: missing", "0 part: different value"]);
});
