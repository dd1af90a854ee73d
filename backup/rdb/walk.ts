import { createReadStream } from "node:fs";
import type { RdbSummary, RdbVisitor } from "./rdb-visitor";
import { RdbWalker } from "./walker";

const PIECE_BYTES = 1024 ** 2;

export type ByteSource = AsyncIterable<Buffer>;

export function readFileInPieces(path: string): ByteSource {
  return createReadStream(path, { highWaterMark: PIECE_BYTES });
}

/** @param afterPiece the next piece is read when its promise is fulfilled @throws RdbCorrupt */
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
