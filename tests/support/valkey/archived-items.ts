/** Items of a stream made by hand, as an archive receives them. */
import type { ArchiveWriter } from "../../../backup/archive/archive-writer";
import { OPCODE } from "../../../backup/rdb/rdb-format";
import type { StreamEvent, StreamItem } from "../../../backup/replication-stream/follow";
import { bytes, rdbFile, text } from "./rdb-bytes";

export const REPLID = "a".repeat(40);
const NONE: Buffer = Buffer.alloc(0);
const BASE = rdbFile("REDIS0011", Buffer.concat([bytes(OPCODE.aux), text("repl-stream-db"), text("3")]));

const item = (event: StreamEvent, content = NONE): StreamItem => ({ event, bytes: content });

/** Commands up to an offset. The server had sent them at `offset` seconds. */
export const commands = (offset: number, content: string): StreamItem =>
  item({ kind: "commands", offset, database: undefined, at: offset * 1000 }, Buffer.from(content));

/** Writes a base without keys, with database 3 selected, at offset 100. */
export async function writeBase(writer: ArchiveWriter, at = 0): Promise<void> {
  const position = { replid: REPLID, offset: 100 };
  await writer.write(item({ kind: "base", position, serverVersion: "9.1.2", at }));
  await writer.write(item({ kind: "base-bytes" }, BASE));
  await writer.write(item({ kind: "base-end" }));
}
