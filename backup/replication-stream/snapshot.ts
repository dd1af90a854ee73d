import { open } from "node:fs/promises";
import { Failure } from "../../lib/errors";
import type { ByteReader } from "./byte-reader";
import { type StreamSource, ReplicaLink } from "./replica-link";

const MARK_BYTES = 40;

/** A server announces the size of the file, or a random mark after it (`repl-diskless-sync yes`). @throws Failure */
export async function* readSnapshot(reader: ByteReader): AsyncGenerator<Buffer, void, undefined> {
  const line = await announcement(reader);
  const mark = /^\$EOF:(.{40})$/.exec(line)?.[1];
  if (mark !== undefined) return yield* untilMark(reader, Buffer.from(mark, "latin1"));
  const size = /^\$(\d{1,15})$/.exec(line)?.[1];
  if (size === undefined) throw new Failure(`the server sent "${line.slice(0, 100)}" in place of an RDB file`);
  return yield* untilSize(reader, Number(size));
}

/** While a server prepares the file, it sends empty lines so that the connection stays open. */
async function announcement(reader: ByteReader): Promise<string> {
  for (;;) {
    const line = await reader.line();
    if (line !== "") return line;
  }
}

async function* untilSize(reader: ByteReader, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let rest = size; rest > 0;) {
    const piece = await reader.piece();
    if (piece.length > rest) reader.unread(piece.subarray(rest));
    yield piece.subarray(0, rest);
    rest -= Math.min(rest, piece.length);
  }
}

async function* untilMark(reader: ByteReader, mark: Buffer): AsyncGenerator<Buffer, void, undefined> {
  // The mark may be spread over several pieces, so the last bytes are held back until more have arrived.
  let held: Buffer = Buffer.alloc(0);
  for (;;) {
    const piece = await reader.piece();
    const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
    const found = bytes.indexOf(mark);
    if (found >= 0) {
      if (found > 0) yield bytes.subarray(0, found);
      const after = bytes.subarray(found + MARK_BYTES);
      if (after.length > 0) reader.unread(after);
      return;
    }
    const ready = Math.max(0, bytes.length - MARK_BYTES + 1);
    if (ready > 0) yield bytes.subarray(0, ready);
    held = bytes.subarray(ready);
  }
}

/** @throws Failure that names the server, the signal's reason, and errors of the file system */
export async function fetchSnapshot(source: StreamSource, path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const link = await ReplicaLink.open(source);
  const onAbort = (): void => {
    link.close();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const file = await open(path, "w", 0o600);
  try {
    const reply = await link.sync(undefined);
    if (reply.kind !== "full") throw new Failure(`${link.where} sends no RDB file`);
    for await (const piece of readSnapshot(link.reader)) await file.writeFile(piece);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    link.close();
    await file.close();
  }
}
