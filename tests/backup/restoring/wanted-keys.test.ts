/** Files whose keys are copied into a running deployment. */
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { scanWanted } from "../../../backup/restoring/wanted-keys";
import { OPCODE, TYPE } from "../../../backup/rdb/rdb-format";
import { bytes, entry, length, rdbFile, text } from "../../support/valkey/rdb-bytes";

const string = (key: string): Buffer => entry(TYPE.string, key, text("1"));
const select = (database: number): Buffer => Buffer.concat([bytes(OPCODE.selectDatabase), length(database)]);
/** Keys "a" and "b" have the slots 15495 and 3300. */
const LOW = [{ from: 0, to: 8191 }];
const found = async (records: readonly Buffer[], unwanted = ""): Promise<readonly number[]> => {
  const source = {
    name: "shard-0",
    ranges: LOW,
    shiftMs: 0,
    open: () => Readable.from([rdbFile("VALKEY080", ...records)]),
  };
  return (await scanWanted([source], ({ key }) => key.toString() !== unwanted)).databases;
};

it("names the databases of wanted keys", async () => {
  expect(await found([select(2), string("b"), select(0), string("b")])).toEqual([0, 2]);
  expect(await found([select(2), string("b")], "b")).toEqual([]);
});

it("refuses files that were written while slots moved, unless the foreign keys are not wanted", async () => {
  await expect(found([select(0), string("b"), string("a")])).rejects.toThrow(
    "shard-0: the file has a key in slot 15495, which a different shard has: slots were moving at this time",
  );
  expect(await found([select(0), string("b"), string("a")], "a")).toEqual([0]);
  const moving = [bytes(OPCODE.slotImport), text("a".repeat(40)), length(1), length(5), length(9000)];
  await expect(found([...moving, select(0), string("b")])).rejects.toThrow(
    /shard-0: the file was written while slots moved between shards \(5-9000\).*make a new backup/,
  );
});
