/** Data directories of restored servers, made of files of archived shards. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { OPCODE, TYPE } from "../../../backup/rdb/rdb-format";
import { readFileInPieces, walkRdb } from "../../../backup/rdb/walk";
import { KeySelection } from "../../../backup/restoring/key-selection";
import type { StagedShard } from "../../../backup/restoring/staging";
import { writeShards } from "../../../backup/restoring/written-shards";
import { useDirectory } from "../../support/directory";
import { bytes, entry, length, rdbFile, text } from "../../support/valkey/rdb-bytes";

const directory = useDirectory();
/** Keys "a" and "b" have the slots 15495 and 3300. */
const RANGES = [[{ from: 0, to: 8191 }], [{ from: 8192, to: 16383 }]];
const KEYS = ["b", "a"];

/** Two shards that have different libraries of functions with the same name, and keys of database 2. */
function staged(): StagedShard[] {
  return RANGES.map((ranges, index) => {
    const file = join(directory.path, `staged-${index}.rdb`);
    const library = Buffer.concat([bytes(OPCODE.function), text(`#!lua name=x\n${index}`)]);
    const key = entry(TYPE.string, KEYS[index] ?? "", text("1"));
    writeFileSync(file, rdbFile("VALKEY080", library, bytes(OPCODE.selectDatabase), length(2), key));
    return { name: `shard-${index}`, ranges, at: 0, file, datasetBytes: 0, shiftMs: 0 };
  });
}

const shards = () => RANGES.map((ranges, index) => ({ ranges, directory: join(directory.path, `data-${index}`) }));

const write = (isArchived: boolean, patterns: readonly string[] = [], problem?: string): Promise<readonly number[]> =>
  writeShards(staged(), shards(), {
    ...{ isArchived, keys: new KeySelection(patterns), signal: new AbortController().signal },
    databasesProblem: () => problem,
  });

const files = (index: number): string => join(directory.path, `data-${index}`, "appendonlydir");

async function contents(index: number): Promise<string[]> {
  const found: string[] = [];
  await walkRdb(readFileInPieces(join(files(index), "appendonly.aof.1.base.rdb")), {
    functionLibrary: (code) => found.push(code.toString()),
    key: ({ database, key }) => found.push(`${database} ${key.toString()}`),
  });
  return found;
}

it("gives each server the keys and the libraries of its shard in the archived shape", async () => {
  expect([...new Set(await write(true))]).toEqual([2]);
  expect([await contents(0), await contents(1)]).toEqual([
    ["#!lua name=x\n0", "2 b"],
    ["#!lua name=x\n1", "2 a"],
  ]);
  expect(readFileSync(join(files(0), "appendonly.aof.manifest"), "utf8")).toContain("base.rdb seq 1 type b");
});

it("leaves nothing that a server loads when libraries, patterns or databases do not fit", async () => {
  await expect(write(false)).rejects.toThrow('different libraries of functions with the name "x"');
  expect(() => readFileSync(join(files(0), "appendonly.aof.manifest"))).toThrow("ENOENT");
});

it("names every pattern without a key and the database that a server lacks", async () => {
  await expect(write(true, ["a", "none:*"], "there is no database 2")).rejects.toThrow(
    /^nothing was restored: --keys: .* no key matches "none:\*"; there is no database 2$/,
  );
  expect(() => readFileSync(join(files(1), "appendonly.aof.manifest"))).toThrow("ENOENT");
});
