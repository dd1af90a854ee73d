/** A connection sends commands as text and counts the replies, which arrive in the order of the commands. */
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { compact } from "../../../../lib/compact";
import { tlsOptions } from "../../../../valkey/connection";
import type { NodeAccess, Endpoint } from "../../../../valkey/node";
import type { TimedRequest } from "../requests/request";
import { encodeCommand, ReplyScanner } from "../requests/resp";

interface LoadConnectionEvents {
  readonly ready: (connection: LoadConnection) => void;
  readonly reply: (request: TimedRequest, error: string | undefined) => void;
  /** All replies in a chunk of data are read; it may be free for new requests. */
  readonly chunkProcessed: (connection: LoadConnection) => void;
  /** Occurs once. @param unanswered requests that were sent and not answered */
  readonly closed: (connection: LoadConnection, unanswered: readonly TimedRequest[], reason: string) => void;
}

export interface LoadConnectionOptions {
  readonly endpoint: Endpoint;
  readonly access: NodeAccess;
  /** Without READONLY, a replica of a cluster redirects reads. */
  readonly readsFromReplica: boolean;
}

const RECEIVE_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 2_000;
const ASKING = encodeCommand(["ASKING"]);

/** Without a client library, which would parse each reply and use more CPU. */
export class LoadConnection {
  readonly #socket: Socket;
  readonly #scanner = new ReplyScanner((error) => {
    this.#reply(error);
  });
  #waiting: (TimedRequest | "asking")[] = [];
  #head = 0;
  /** These commands precede all requests. */
  #handshakeReplies = 0;
  #isReady = false;
  isIdle = false;
  #isClosed = false;
  #reason: string | undefined;

  constructor(
    plan: LoadConnectionOptions,
    private readonly events: LoadConnectionEvents,
  ) {
    this.#socket = this.#open(plan);
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(CONNECT_TIMEOUT_MS, () => {
      if (!this.#isReady) this.close("timed out while connecting");
    });
    this.#socket.on("error", (error) => {
      this.#reason ??= error.message;
    });
    this.#socket.on("close", () => {
      this.#end(this.#reason ?? "closed by the server");
    });
  }

  get inFlight(): number {
    return this.#waiting.length - this.#head;
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isClosed;
  }

  get oldestUnanswered(): TimedRequest | undefined {
    for (let i = this.#head; i < this.#waiting.length; i++) {
      const each = this.#waiting[i];
      if (each !== "asking") return each;
    }
    return undefined;
  }

  send(requests: readonly TimedRequest[]): void {
    let text = "";
    for (const request of requests) {
      if (request.isAsking) {
        text += ASKING;
        this.#waiting.push("asking");
      }
      text += request.operation.command;
      this.#waiting.push(request);
    }
    this.#socket.write(text, "latin1");
  }

  close(reason: string): void {
    this.#reason ??= reason;
    this.#socket.destroy();
    this.#end(reason);
  }

  #open({ endpoint, access, readsFromReplica }: LoadConnectionOptions): Socket {
    const handshake = (): void => {
      this.#handshake(access, readsFromReplica);
    };
    if (access.tls !== undefined) {
      const socket = connectTls({ ...endpoint, ...tlsOptions(access, endpoint.host) }, handshake);
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
    return connectTcp({ ...endpoint, onread }, handshake);
  }

  #handshake({ username, password }: NodeAccess, readsFromReplica: boolean): void {
    const commands = compact([
      password === undefined ? undefined : compact(["AUTH", username, password]),
      readsFromReplica ? ["READONLY"] : undefined,
      // The reply to PING shows that the server answers. Without a password, it also shows that the server requires
      // none.
      ["PING"],
    ]);
    this.#handshakeReplies = commands.length;
    this.#socket.write(commands.map(encodeCommand).join(""), "latin1");
  }

  #feed(chunk: Buffer, bytes: number): void {
    this.#scanner.feed(chunk, bytes);
    if (!this.#isClosed) this.events.chunkProcessed(this);
  }

  #reply(error: string | undefined): void {
    if (this.#isClosed) return;
    if (this.#handshakeReplies > 0) {
      if (error !== undefined) this.close(error);
      else if (--this.#handshakeReplies === 0) this.#begin();
      return;
    }
    const request = this.#waiting[this.#head++];
    if (this.#head === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    if (request !== undefined && request !== "asking") this.events.reply(request, error);
  }

  #begin(): void {
    this.#isReady = true;
    this.#socket.setTimeout(0);
    this.events.ready(this);
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const unanswered = this.#waiting.slice(this.#head).filter((each) => each !== "asking");
    this.#waiting = [];
    this.events.closed(this, unanswered, reason);
  }
}
