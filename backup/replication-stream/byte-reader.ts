import type { Readable } from "node:stream";
import { Failure } from "../../lib/errors";

const LF = 10;
const MAX_LINE_BYTES = 64 * 1024;

export class ByteReader {
  readonly #pieces: AsyncIterator<Buffer>;
  #buffer: Buffer = Buffer.alloc(0);
  /** Milliseconds without any byte while a caller waits, after which the stream ends with a Failure. */
  silenceMs = Infinity;

  constructor(private readonly stream: Readable) {
    this.#pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#buffer.indexOf(LF);
      if (end >= 0) {
        const line = this.#buffer.toString("latin1", 0, end);
        this.#buffer = this.#buffer.subarray(end + 1);
        return line.replace(/\r$/, "");
      }
      if (this.#buffer.length > MAX_LINE_BYTES) throw new Failure("the server sent a line that is too long");
      this.#buffer = Buffer.concat([this.#buffer, await this.#next()]);
    }
  }

  async piece(): Promise<Buffer> {
    if (this.#buffer.length === 0) return this.#next();
    const piece = this.#buffer;
    this.#buffer = Buffer.alloc(0);
    return piece;
  }

  /** Puts back bytes that the caller has read but does not need. The next call returns them first. */
  unread(bytes: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? bytes : Buffer.concat([bytes, this.#buffer]);
  }

  async #next(): Promise<Buffer> {
    const timer = Number.isFinite(this.silenceMs)
      ? setTimeout(() => {
          this.stream.destroy(new Failure(`the server has sent nothing for ${this.silenceMs / 1000} s`));
        }, this.silenceMs)
      : undefined;
    try {
      const next = await this.#pieces.next();
      if (next.done === true) throw new Failure("the server closed the connection");
      return next.value;
    } finally {
      clearTimeout(timer);
    }
  }
}
