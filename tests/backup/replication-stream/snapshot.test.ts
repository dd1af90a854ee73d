import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { ByteReader } from "../../../backup/replication-stream/byte-reader";
import { readSnapshot } from "../../../backup/replication-stream/snapshot";

const MARK = "0123456789abcdef0123456789abcdef01234567";
const CONTENT = `REDIS0011\r\n$EOF:${MARK.slice(0, 39)}`;

/** The file, and what follows it. */
async function read(...pieces: readonly string[]): Promise<[file: string, rest: string]> {
  const reader = new ByteReader(Readable.from(pieces.map((piece) => Buffer.from(piece))));
  const file: Buffer[] = [];
  for await (const piece of readSnapshot(reader)) file.push(piece);
  const rest = await reader.piece().catch(() => Buffer.alloc(0));
  return [Buffer.concat(file).toString(), rest.toString()];
}

it("finds the end of the file by its size or its mark, wherever the pieces end", async () => {
  const withMark = `\n\n$EOF:${MARK}\r\n${CONTENT}${MARK}*1`;
  const withSize = `\n$${CONTENT.length}\r\n${CONTENT}*1`;
  for (const text of [withMark, withSize]) {
    for (let place = 1; place < text.length - 2; place++) {
      const [file, rest] = await read(text.slice(0, place), text.slice(place));
      expect([place, file, rest]).toEqual([place, CONTENT, "*1"]);
    }
    expect((await read(...Array.from(text)))[0]).toBe(CONTENT);
  }
});

it("ends with an error for a file that does not arrive as a whole, and for other replies", async () => {
  await expect(read(`$${CONTENT.length + 1}\r\n${CONTENT}`)).rejects.toThrow("closed the connection");
  await expect(read(`$EOF:${MARK}\r\n${CONTENT}`)).rejects.toThrow("closed the connection");
  await expect(read("-ERR the child process failed\r\n")).rejects.toThrow(/sent "-ERR the child process failed"/);
});
