import { Failure } from "../../../lib/errors";
import { type DeploymentNode, type NodeAccess, formatEndpoint } from "../../../valkey/node";
import { Pipeline } from "../../../valkey/pipeline";
import type { CopiedKey } from "../key-reader";

const IN_FLIGHT_BYTES = 8 * 1024 ** 2;
const BLOCK_BYTES = 64 * 1024;
/** Payloads from this size on are written to the socket without a copy. */
const COPIED_BYTES = 16 * 1024;
/** Estimated size of a command without its key and its payload, bytes. */
const OVERHEAD_BYTES = 96;
const CONNECT_MS = 10_000;
/** A large value takes long to load. */
const SILENCE_MS = 120_000;

interface PipeReplies {
  /** Undefined if the key was written. */
  readonly onReply: (key: CopiedKey, error: string | undefined) => void;
  readonly onEnd: (keys: readonly CopiedKey[], reason: string) => void;
}

export class RestorePipe {
  #block = Buffer.allocUnsafe(BLOCK_BYTES);
  #filled = 0;
  #inFlight = 0;
  #isOpen = true;
  readonly #waiting = new Set<() => void>();
  readonly #pipeline: Pipeline<CopiedKey>;

  private constructor(
    where: string,
    { endpoint }: DeploymentNode,
    database: number,
    access: NodeAccess,
    replies: PipeReplies,
    opened: (error?: Failure) => void,
  ) {
    const greeting = database > 0 ? [["SELECT", String(database)]] : [];
    const plan = { endpoint, access, greeting, connectMs: CONNECT_MS, silenceMs: SILENCE_MS };
    this.#pipeline = new Pipeline(plan, {
      ready: opened,
      reply: (key, error) => {
        this.#inFlight -= sizeOf(key);
        replies.onReply(key, error);
      },
      chunkProcessed: () => {
        this.#wake();
      },
      closed: (keys, reason) => {
        this.#isOpen = false;
        opened(new Failure(`${where}: ${reason}`));
        if (keys.length > 0) replies.onEnd(keys, `${where}: ${reason}`);
        this.#wake();
      },
    });
  }

  static async open(
    node: DeploymentNode,
    database: number,
    access: NodeAccess,
    replies: PipeReplies,
  ): Promise<RestorePipe> {
    const where = `${node.name} (${formatEndpoint(node.endpoint)})`;
    return new Promise((resolve, reject) => {
      const pipe = new RestorePipe(where, node, database, access, replies, (error) => {
        if (error === undefined) resolve(pipe);
        else reject(error);
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get hasRoom(): boolean {
    return this.#inFlight < IN_FLIGHT_BYTES;
  }

  /** Sends RESTORE for a key, at the latest with the next call of `flush`. */
  send(key: CopiedKey): void {
    this.#pipeline.expectReply(key);
    this.#inFlight += sizeOf(key);
    const { dump } = key;
    const time = String(key.expiresAt ?? 0);
    this.#text(`*5\r\n$7\r\nRESTORE\r\n$${key.key.length}\r\n`);
    this.#bytes(key.key);
    this.#text(`\r\n$${time.length}\r\n${time}\r\n$${dump.length}\r\n`);
    this.#bytes(dump);
    this.#text("\r\n$6\r\nABSTTL\r\n");
  }

  flush(): void {
    if (this.#filled === 0) return;
    this.#pipeline.write(this.#block.subarray(0, this.#filled));
    this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    this.#filled = 0;
  }

  async room(): Promise<void> {
    this.flush();
    while (this.#isOpen && this.#inFlight > IN_FLIGHT_BYTES / 2) await this.#reply();
  }

  async idle(): Promise<void> {
    this.flush();
    while (this.#isOpen && this.#inFlight > 0) await this.#reply();
  }

  close(): void {
    this.#pipeline.close("the connection was closed");
  }

  #reply(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #text(text: string): void {
    if (this.#filled + text.length > BLOCK_BYTES) this.flush();
    this.#filled += this.#block.write(text, this.#filled, "latin1");
  }

  #bytes(bytes: Buffer): void {
    if (bytes.length >= COPIED_BYTES) {
      this.flush();
      this.#pipeline.write(bytes);
      return;
    }
    if (this.#filled + bytes.length > BLOCK_BYTES) this.flush();
    this.#filled += bytes.copy(this.#block, this.#filled);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

const sizeOf = ({ key, dump }: CopiedKey): number => key.length + dump.length + OVERHEAD_BYTES;
