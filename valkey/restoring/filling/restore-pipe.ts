/** A connection that writes many keys to a server with RESTORE, without waiting for the reply to each command. */
import type { Duplex } from "node:stream";
import { Failure, messageOf } from "../../../lib/errors";
import { openStream } from "../../byte-stream";
import type { DeploymentNode, NodeAccess } from "../../node";
import { formatEndpoint } from "../../node";
import type { CopiedKey } from "../key-reader";

/** A larger value is sent when less is in flight. */
const IN_FLIGHT_BYTES = 8 * 1024 ** 2;
/** Each block is one write to the socket. */
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
  /** Keys without a reply, from index `#first`, in the order in which they were sent. */
  #pending: CopiedKey[] = [];
  #first = 0;
  /** Beginning of a reply whose end has not arrived yet. */
  #rest = "";
  #isOpen = true;
  #lastReply = performance.now();
  readonly #waiting = new Set<() => void>();
  readonly #watch: NodeJS.Timeout;
  /** Receives the reply to the next command of the introduction. */
  #onLine: ((line: string) => void) | undefined;

  private constructor(
    private readonly where: string,
    private readonly stream: Duplex,
    private readonly replies: PipeReplies,
  ) {
    stream.on("data", (piece: Buffer) => {
      this.#read(piece);
    });
    stream.on("error", (error: Error) => {
      this.#end(messageOf(error));
    });
    stream.on("close", () => {
      this.#end("the connection was closed");
    });
    this.#watch = setInterval(() => {
      if (this.#inFlight > 0 && performance.now() - this.#lastReply > SILENCE_MS)
        stream.destroy(new Failure(`no answer within ${SILENCE_MS / 1000} s`));
    }, 1000);
  }

  /** @throws Failure that names the server */
  static async open(
    node: DeploymentNode,
    database: number,
    access: NodeAccess,
    replies: PipeReplies,
  ): Promise<RestorePipe> {
    const where = `${node.name} (${formatEndpoint(node.endpoint)})`;
    let pipe: RestorePipe | undefined;
    try {
      pipe = new RestorePipe(where, await openStream({ endpoint: node.endpoint, access }, CONNECT_MS), replies);
      await pipe.#introduce(access, database);
      return pipe;
    } catch (error) {
      pipe?.close();
      throw new Failure(`${where}: ${messageOf(error)}`, { cause: error });
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get hasRoom(): boolean {
    return this.#inFlight < IN_FLIGHT_BYTES;
  }

  /** Sends RESTORE for a key, at the latest with the next call of `flush`. */
  send(key: CopiedKey): void {
    if (this.#inFlight === 0) this.#lastReply = performance.now();
    this.#pending.push(key);
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
    this.stream.write(this.#block.subarray(0, this.#filled));
    this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    this.#filled = 0;
  }

  /** Waits until there is room for more keys, or the connection ends. */
  async room(): Promise<void> {
    this.flush();
    while (this.#isOpen && this.#inFlight > IN_FLIGHT_BYTES / 2) await this.#reply();
  }

  async idle(): Promise<void> {
    this.flush();
    while (this.#isOpen && this.#inFlight > 0) await this.#reply();
  }

  close(): void {
    this.stream.destroy();
    this.#end("the connection was closed");
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
      this.stream.write(bytes);
      return;
    }
    if (this.#filled + bytes.length > BLOCK_BYTES) this.flush();
    this.#filled += bytes.copy(this.#block, this.#filled);
  }

  #read(piece: Buffer): void {
    const lines = (this.#rest + piece.toString("latin1")).split("\r\n");
    this.#rest = lines.pop() ?? "";
    this.#lastReply = performance.now();
    for (const line of lines) {
      const onLine = this.#onLine;
      if (onLine !== undefined) {
        this.#onLine = undefined;
        onLine(line);
        continue;
      }
      const key = this.#pending[this.#first++];
      if (key === undefined) {
        this.stream.destroy(new Failure(`an unexpected reply: ${line.slice(0, 200)}`));
        return;
      }
      this.#inFlight -= sizeOf(key);
      this.replies.onReply(key, line.startsWith("-") ? line.slice(1) : undefined);
    }
    this.#pending = this.#pending.slice(this.#first);
    this.#first = 0;
    this.#wake();
  }

  #end(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearInterval(this.#watch);
    this.#onLine?.(`-${reason}`);
    const keys = this.#pending.slice(this.#first);
    this.#pending = [];
    this.#first = 0;
    if (keys.length > 0) this.replies.onEnd(keys, `${this.where}: ${reason}`);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #introduce({ username = "default", password, formerPassword }: NodeAccess, database: number): Promise<void> {
    const timer = setTimeout(() => {
      this.stream.destroy(new Failure(`no answer within ${CONNECT_MS / 1000} s`));
    }, CONNECT_MS);
    try {
      if (password !== undefined) {
        const error = await this.#request("AUTH", username, password);
        if (error?.startsWith("WRONGPASS") === true && formerPassword !== undefined)
          throwError(await this.#request("AUTH", username, formerPassword));
        else throwError(error);
      }
      if (database > 0) throwError(await this.#request("SELECT", String(database)));
    } finally {
      clearTimeout(timer);
    }
  }

  /** @returns the server's error, or undefined */
  #request(...words: readonly string[]): Promise<string | undefined> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    return new Promise((resolve) => {
      this.#onLine = (line) => {
        resolve(line.startsWith("-") ? line.slice(1) : undefined);
      };
      this.stream.write(`*${words.length}\r\n${parts.join("")}`);
    });
  }
}

const sizeOf = ({ key, dump }: CopiedKey): number => key.length + dump.length + OVERHEAD_BYTES;

function throwError(error: string | undefined): void {
  if (error !== undefined) throw new Failure(error);
}
