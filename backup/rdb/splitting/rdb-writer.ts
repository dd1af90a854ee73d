import { Crc64 } from "../crc64";
import { encodeLength, encodeString } from "../lengths";
import { type RdbHeader, CHECKSUM_SINCE, OPCODE, formatHeader } from "../rdb-format";

export interface ByteSink {
  /** The caller does not change them afterwards. */
  write(bytes: Buffer): Promise<void>;
}

const BLOCK_BYTES = 1024 ** 2;

export class RdbWriter {
  readonly #sink: ByteSink;
  readonly #crc = new Crc64();
  #block: Buffer;
  #used = 0;
  #full: Buffer[] = [];
  #database: number | undefined;

  constructor(
    sink: ByteSink,
    header: RdbHeader,
    private readonly blockBytes = BLOCK_BYTES,
  ) {
    this.#sink = sink;
    this.#block = Buffer.allocUnsafe(blockBytes);
    this.#version = header.version;
    this.#append(formatHeader(header));
  }

  readonly #version: number;

  aux(name: Buffer, value: Buffer): void {
    this.#append(Buffer.from([OPCODE.aux]));
    this.#append(encodeString(name));
    this.#append(encodeString(value));
  }

  functionLibrary(code: Buffer): void {
    this.#append(Buffer.from([OPCODE.function]));
    this.#append(encodeString(code));
  }

  selectDatabase(database: number): void {
    if (database === this.#database) return;
    this.#database = database;
    this.#append(Buffer.from([OPCODE.selectDatabase]));
    this.#append(encodeLength(database));
  }

  copy(buffer: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#used === this.blockBytes) this.#close();
      const count = Math.min(to - at, this.blockBytes - this.#used);
      buffer.copy(this.#block, this.#used, at, at + count);
      this.#used += count;
      at += count;
    }
  }

  /** Returns undefined if no block is full. */
  flush(): Promise<void> | undefined {
    return this.#full.length === 0 ? undefined : this.#writeFull();
  }

  async end(): Promise<void> {
    this.#append(Buffer.from([OPCODE.end]));
    this.#close();
    if (this.#version >= CHECKSUM_SINCE) this.#full.push(this.#crc.digest());
    await this.#writeFull();
  }

  #append(bytes: Buffer): void {
    this.copy(bytes, 0, bytes.length);
  }

  #close(): void {
    this.#crc.update(this.#block, 0, this.#used);
    this.#full.push(this.#block.subarray(0, this.#used));
    this.#block = Buffer.allocUnsafe(this.blockBytes);
    this.#used = 0;
  }

  async #writeFull(): Promise<void> {
    const blocks = this.#full;
    this.#full = [];
    for (const block of blocks) await this.#sink.write(block);
  }
}
