/** A connection that sends requests without waiting for replies, which arrive in the order of the requests. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { compact } from "../lib/compact";
import { tlsOptions } from "./connection";
import type { Endpoint, NodeAccess } from "./node";
import { encodeCommand, ReplyScanner } from "./resp";

export interface PipelineOptions {
  readonly endpoint: Endpoint;
  readonly access: NodeAccess;
  /** Sent after AUTH and before all requests, such as SELECT. An error closes the connection. */
  readonly greeting: readonly (readonly string[])[];
  readonly connectMs: number;
  /** Time without a reply after which a connection with requests in flight is closed. @default no limit */
  readonly silenceMs?: number;
}

interface PipelineEvents<R> {
  readonly ready: () => void;
  readonly reply: (request: R, error: string | undefined) => void;
  /** All replies in a chunk of data are read. */
  readonly chunkProcessed: () => void;
  /** Occurs once. @param unanswered requests that were sent and not answered */
  readonly closed: (unanswered: readonly R[], reason: string) => void;
}

const RECEIVE_BYTES = 64 * 1024;

/** Without a client library, which would parse each reply and use more CPU. */
export class Pipeline<R> {
  readonly #socket: Socket;
  readonly #scanner = new ReplyScanner((error) => {
    this.#reply(error);
  });
  /** Requests without a reply, from index `#first`; undefined for a command whose reply means nothing. */
  #waiting: (R | undefined)[] = [];
  #first = 0;
  readonly #greeting: (readonly string[])[];
  /** Tried once if the server refuses the password. */
  #former: string[] | undefined;
  #isReady = false;
  #isClosed = false;
  #reason: string | undefined;

  constructor(
    private readonly options: PipelineOptions,
    private readonly events: PipelineEvents<R>,
  ) {
    const { access, connectMs, silenceMs, greeting } = options;
    // The reply to PING shows that the server answers. Without a password, it also shows that the server requires none.
    this.#greeting = [...compact([authentication(access, access.password)]), ...greeting, ["PING"]];
    this.#former = authentication(access, access.formerPassword);
    this.#socket = this.#open();
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(connectMs);
    this.#socket.on("timeout", () => {
      if (!this.#isReady) this.close("timed out while connecting");
      else if (this.inFlight > 0) this.close(`no answer within ${(silenceMs ?? 0) / 1000} s`);
    });
    this.#socket.on("error", (error) => {
      this.#reason ??= error.message;
    });
    this.#socket.on("close", () => {
      this.#end(this.#reason ?? "closed by the server");
    });
  }

  /** Requests and other commands without a reply. */
  get inFlight(): number {
    return this.#waiting.length - this.#first;
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isClosed;
  }

  get oldestUnanswered(): R | undefined {
    for (let i = this.#first; i < this.#waiting.length; i++) {
      const each = this.#waiting[i];
      if (each !== undefined) return each;
    }
    return undefined;
  }

  /** Must be called for each command that `write` sends. @param request undefined if its reply means nothing */
  expectReply(request: R | undefined): void {
    this.#waiting.push(request);
  }

  /** @param data encoded commands, or a part of one; in a text, each character is one byte */
  write(data: string | Buffer): void {
    this.#socket.write(data, "latin1");
  }

  close(reason: string): void {
    this.#reason ??= reason;
    this.#socket.destroy();
    this.#end(reason);
  }

  #open(): Socket {
    const { endpoint, access } = this.options;
    const greet = (): void => {
      this.#greet();
    };
    if (access.tls !== undefined) {
      const socket = connectTls({ ...endpoint, ...tlsOptions(access, endpoint.host) }, greet);
      socket.on("data", (chunk: Buffer) => {
        this.#feed(chunk, chunk.length);
      });
      return socket;
    }
    // One buffer is used again for all received data, so that no garbage must be collected.
    const buffer = Buffer.allocUnsafe(RECEIVE_BYTES);
    const onread = {
      buffer,
      callback: (bytes: number): boolean => {
        this.#feed(buffer, bytes);
        return true;
      },
    };
    return connectTcp({ ...endpoint, onread }, greet);
  }

  #greet(): void {
    const [command] = this.#greeting;
    if (command !== undefined) this.write(encodeCommand(command.map((word) => Buffer.from(word).toString("latin1"))));
    else {
      this.#isReady = true;
      this.#socket.setTimeout(this.options.silenceMs ?? 0);
      this.events.ready();
    }
  }

  #greeted(error: string | undefined): void {
    this.#greeting.shift();
    if (error?.startsWith("WRONGPASS") === true && this.#former !== undefined) this.#greeting.unshift(this.#former);
    else if (error !== undefined) {
      this.close(error);
      return;
    }
    this.#former = undefined;
    this.#greet();
  }

  #feed(chunk: Buffer, bytes: number): void {
    this.#scanner.feed(chunk, bytes);
    if (!this.#isClosed) this.events.chunkProcessed();
  }

  #reply(error: string | undefined): void {
    if (this.#isClosed) return;
    if (!this.#isReady) {
      this.#greeted(error);
      return;
    }
    if (this.inFlight === 0) {
      this.close(`an unexpected reply: ${error ?? "no error"}`);
      return;
    }
    const request = this.#waiting[this.#first];
    // A request can be large.
    this.#waiting[this.#first++] = undefined;
    if (this.#first === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#first = 0;
    } else if (this.#first > 1024 && this.#first * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    if (request !== undefined) this.events.reply(request, error);
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const unanswered = compact(this.#waiting.slice(this.#first));
    this.#waiting = [];
    this.events.closed(unanswered, reason);
  }
}

function authentication({ username }: NodeAccess, password: string | undefined): string[] | undefined {
  return password === undefined ? undefined : compact(["AUTH", username, password]);
}
