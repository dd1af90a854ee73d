/** Files of several shards that are split and merged, and what cannot be. */
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { type ByteSource, walkRdb } from "../../../backup/rdb/walk";
import { compareRdbs } from "../../../backup/rdb/comparing/compare";
import { OPCODE, TYPE } from "../../../backup/rdb/rdb-format";
import { type SplitResult, type SplitSource, splitRdbs } from "../../../backup/rdb/splitting/split";
import { bytes, eight, entry, length, rdbFile, text } from "../../support/valkey/rdb-bytes";

const string = (key: string, value = "1"): Buffer => entry(TYPE.string, key, text(value));
const library = (name: string, code = ""): Buffer =>
  Buffer.concat([bytes(OPCODE.function), text(`#!lua name=${name}\n${code}`)]);
const select = (database: number): Buffer => Buffer.concat([bytes(OPCODE.selectDatabase), length(database)]);
const source = (...records: readonly Buffer[]): ByteSource => Readable.from([rdbFile("VALKEY080", ...records)]);
/** Keys "a" and "b" have the slots 15495 and 3300. */
const [LOW, HIGH] = [[{ from: 0, to: 8191 }], [{ from: 8192, to: 16383 }]];

async function split(
  sources: readonly Omit<SplitSource, "name">[],
  targets: readonly (typeof LOW)[],
): Promise<SplitResult & { readonly files: Buffer[] }> {
  const pieces = targets.map((): Buffer[] => []);
  const result = await splitRdbs(
    sources.map((each, index) => ({ ...each, name: `shard-${index}` })),
    targets.map((ranges, index) => ({
      ranges,
      sink: {
        write: (piece) => {
          pieces[index]?.push(piece);
          return Promise.resolve();
        },
      },
    })),
  );
  return { ...result, files: pieces.map((each) => Buffer.concat(each)) };
}

async function contents(file: Buffer): Promise<string[]> {
  const found: string[] = [];
  await walkRdb(Readable.from([file]), {
    functionLibrary: (code) => found.push(code.toString().split("\n")[0] ?? ""),
    key: ({ database, key }) => found.push(`${database} ${key.toString()}`),
  });
  return found.sort();
}

it("merges the keys of all shards, and has each library once", async () => {
  const merged = await split(
    [
      { bytes: source(library("x"), select(2), string("b")), ranges: LOW },
      { bytes: source(library("x"), library("y"), select(0), string("a")), ranges: HIGH },
    ],
    [[...LOW, ...HIGH]],
  );
  expect(merged).toMatchObject({ keysOf: [2], databases: [0, 2] });
  expect(await contents(merged.files[0] ?? Buffer.alloc(0))).toEqual(["#!lua name=x", "#!lua name=y", "0 a", "2 b"]);
});

it("gives each target its keys and all libraries", async () => {
  const { files, keysOf } = await split(
    [{ bytes: source(library("x"), select(0), string("a"), string("b")) }],
    [LOW, HIGH],
  );
  expect(keysOf).toEqual([1, 1]);
  expect(await Promise.all(files.map(contents))).toEqual([
    ["#!lua name=x", "0 b"],
    ["#!lua name=x", "0 a"],
  ]);
});

it("refuses keys that a different shard has, and libraries that differ", async () => {
  await expect(split([{ bytes: source(string("a")), ranges: LOW }], [[...LOW, ...HIGH]])).rejects.toThrow(
    "shard-0: the file has a key in slot 15495, which a different shard has: slots were moving at this time",
  );
  await expect(split([{ bytes: source(string("a")) }], [LOW])).rejects.toThrow("no target has this slot");
  await expect(
    split([{ bytes: source(library("x", "1")) }, { bytes: source(library("x", "2")) }], [[...LOW, ...HIGH]]),
  ).rejects.toThrow(/shard-0 and shard-1 have different libraries of functions with the name "x"/);
});

it("finds a key in the file of a wrong shard, missing in one and unexpected in the other", async () => {
  const file = (...records: readonly Buffer[]) => ({ open: () => source(...records) });
  const wanted = [file(string("a")), file(string("b"))];
  const compared = await compareRdbs(wanted, [
    { ...file(string("a"), string("b")), ranges: LOW },
    { ...file(), ranges: HIGH },
  ]);
  expect(compared.map(({ first }) => first.map(({ key, kind }) => `${key.toString()}: ${kind}`))).toEqual([
    ["a: unexpected"],
    ["a: missing"],
  ]);
  const moved = await compareRdbs(wanted, [
    { ...file(string("b")), ranges: LOW },
    { ...file(string("a")), ranges: HIGH },
  ]);
  expect(moved.map(({ isEqual, keys }) => [isEqual, keys])).toEqual([
    [true, [1, 1]],
    [true, [1, 1]],
  ]);
});

it("wants the libraries of all files, or of one", async () => {
  const wanted = [{ open: () => source(library("x")) }, { open: () => source(library("y")) }];
  const found = { open: () => source(library("x")) };
  const compared = await compareRdbs(wanted, [found, { ...found, librariesOf: 0 }, { ...found, librariesOf: 1 }]);
  expect(compared.map(({ libraries }) => libraries)).toEqual([["#!lua name=y"], [], ["#!lua name=y", "#!lua name=x"]]);
});

it("moves TTLs of keys and of fields, and the comparison computes them from the first file", async () => {
  const hash = (key: string, ...fields: readonly (readonly [name: string, time: number])[]): Buffer =>
    entry(
      TYPE.hashFieldTtls,
      key,
      Buffer.concat([length(fields.length), ...fields.flatMap(([name, time]) => [text(name), text("v"), eight(time)])]),
    );
  const far = 2n ** 63n - 1n;
  const records = (shift: number): Buffer[] => [
    string("none"),
    Buffer.concat([bytes(OPCODE.expireMs), eight(1000 + shift), bytes(OPCODE.frequency, 7), string("ms")]),
    Buffer.concat([bytes(OPCODE.idle), length(100), bytes(OPCODE.expireMs), eight(2000 + shift), string("seconds")]),
    Buffer.concat([bytes(OPCODE.expireMs), eight(far), string("far")]),
    hash("hash", ["a", 3000 + shift], ["b", -1], ["c", 1 + shift]),
  ];
  const seconds = Buffer.concat([
    bytes(OPCODE.idle),
    length(100),
    bytes(OPCODE.expireSeconds),
    bytes(2, 0, 0, 0),
    string("seconds"),
  ]);
  const archived = [...records(0).slice(0, 2), seconds, ...records(0).slice(3)];
  const all = [...LOW, ...HIGH];
  const { files } = await split([{ bytes: source(...archived), shiftMs: 5000 }], [all]);
  const [file = Buffer.alloc(0)] = files;
  const wanted = { open: () => source(...archived), shiftMs: 5000 };
  expect(await compareRdbs([wanted], [{ open: () => Readable.from([file]) }])).toMatchObject([{ isEqual: true }]);
  const byHand = { open: () => source(...records(5000)) };
  expect(await compareRdbs([byHand], [{ open: () => Readable.from([file]) }])).toMatchObject([{ isEqual: true }]);
  const [expired] = await compareRdbs([wanted], [{ open: () => Readable.from([file]) }], { expiredBy: 6000 });
  expect(expired).toMatchObject({ isEqual: true, expired: 1, keys: [4, 4] });
  const [unmoved] = await compareRdbs([wanted], [{ open: () => source(...archived) }]);
  expect(unmoved?.first.map(({ key, kind }) => `${key.toString()}: ${kind}`).sort()).toEqual([
    "hash: different value",
    "ms: different TTL",
    "seconds: different TTL",
  ]);
});
