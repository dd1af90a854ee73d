import { Readable } from "node:stream";
import { expect, it } from "vitest";
import type { Comparison } from "../../../valkey/rdb/compare";
import { compareRdb } from "../../../valkey/rdb/compare";
import { encodeString } from "../../../valkey/rdb/lengths";
import { OPCODE, TYPE } from "../../../valkey/rdb/rdb-format";
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
function compare(first: readonly Buffer[], second: readonly Buffer[], size = 7): Promise<Comparison> {
  const open = (header: string, records: readonly Buffer[]) => () => {
    const file = rdbFile(header, ...records);
    const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, index) =>
      file.subarray(size * index, size * (index + 1)),
    );
    return Readable.from(pieces) as AsyncIterable<Buffer>;
  };
  return compareRdb(open("REDIS0010", first), open("VALKEY080", second));
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

it("counts all differences, and names as many as requested", async () => {
  const many = Array.from({ length: 30 }, (_, index) => string(`key-${index}`, "x"));
  const result = await compare([], many);
  expect([result.differing, result.first.length, result.isEqual]).toEqual([30, 10, false]);
});
