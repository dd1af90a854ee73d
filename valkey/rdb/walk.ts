/** Walks over RDB files that come from a stream. */
import { createReadStream } from "node:fs";
import type { RdbSummary, RdbVisitor } from "./rdb-visitor";
import { RdbWalker } from "./walker";

/** Number of bytes that are read from a file at a time. */
const PIECE_BYTES = 1024 ** 2;

/** The bytes of a file or of an object, in pieces. */
export type ByteSource = AsyncIterable<Buffer>;

/** Reads a file in pieces. @throws the operating system's error, when the first piece is read */
export function readFileInPieces(path: string): ByteSource {
  return createReadStream(path, { highWaterMark: PIECE_BYTES });
}

/**
 * Walks over an RDB file from its beginning to its end.
 * @param afterPiece called after each piece. The next piece is read when the returned promise is fulfilled
 * @throws RdbCorrupt for a truncated or damaged file, and errors of the source and of the visitor
 */
export async function walkRdb(
  source: ByteSource,
  visitor: RdbVisitor,
  afterPiece?: () => Promise<void> | undefined,
): Promise<RdbSummary> {
  const walker = new RdbWalker(visitor);
  for await (const piece of source) {
    walker.push(piece);
    await afterPiece?.();
  }
  return walker.finish();
}
