/** One connection of the generator: commands go out as text, replies come back in order and are only counted. */
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { tlsOptions } from "../../../../valkey/connection";
import type { Access, Endpoint } from "../../../../valkey/node";
import type { TimedRequest } from "../requests/request";
import { encodeCommand, ReplyScanner } from "./resp";

/** Told by a connection of what happens to it. */
export interface LoadConnectionEvents {
  /** Commands may be sent. */
  readonly ready: (connection: LoadConnection) => void;
  /** @param error the reply's text where it is an error */
  readonly reply: (request: TimedRequest, error: string | undefined) => void;
  /** A chunk has been read to its end: the moment to send what replies made room for. */
  readonly chunkProcessed: (connection: LoadConnection) => void;
  /** It is over, once. @param unanswered requests sent and not answered */
  readonly closed: (connection: LoadConnection, unanswered: readonly TimedRequest[], reason: string) => void;
}

export interface LoadConnectionOptions {
  readonly endpoint: Endpoint;
  readonly access: Access;
  /** Whether reads of a cluster's replica are wanted. */
  readonly readsFromReplica: boolean;
}

const RECEIVE_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 2_000;
const ASKING = encodeCommand(["ASKING"]);

export class LoadConnection {
  readonly #socket: Socket;
  readonly #scanner = new ReplyScanner((error) => {
    this.#reply(error);
  });
  #waiting: (TimedRequest | "asking")[] = [];
  #head = 0;
  /** Replies to what introduces this connection, before any request's. */
  #introductions = 0;
  #isReady = false;
  /** For its node's use: whether it is among those that wait for something to send. */
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
      if (!this.#isReady) this.close("cannot be reached in time");
    });
    this.#socket.on("error", (error) => {
      this.#reason ??= error.message;
    });
    this.#socket.on("close", () => {
      this.#end(this.#reason ?? "was closed by the server");
    });
  }

  get inFlight(): number {
    return this.#waiting.length - this.#head;
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isClosed;
  }

  /** The oldest request that is not answered. */
  get oldestUnanswered(): TimedRequest | undefined {
    for (let i = this.#head; i < this.#waiting.length; i++) {
      const each = this.#waiting[i];
      if (each !== "asking") return each;
    }
    return undefined;
  }

  /** In one write. */
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
    const introduce = (): void => {
      this.#introduce(access, readsFromReplica);
    };
    if (access.tls !== undefined) {
      const socket = connectTls({ ...endpoint, ...tlsOptions(access, endpoint.host) }, introduce);
      socket.on("data", (chunk: Buffer) => {
        this.#feed(chunk, chunk.length);
      });
      return socket;
    }
    // One buffer for all that is received: nothing to collect afterwards.
    const buffer = Buffer.allocUnsafe(RECEIVE_BYTES);
    const onread = {
      buffer,
      callback: (bytes: number): boolean => {
        this.#feed(buffer, bytes);
        return true;
      },
    };
    return connectTcp({ ...endpoint, onread }, introduce);
  }

  #introduce({ username, password }: Access, readsFromReplica: boolean): void {
    const commands = [
      ...(password === undefined ? [] : [["AUTH", ...(username === undefined ? [] : [username]), password]]),
      ...(readsFromReplica ? [["READONLY"]] : []),
      // The reply that shows that the server is there, and wants no password where none is given.
      ["PING"],
    ];
    this.#introductions = commands.length;
    this.#socket.write(commands.map(encodeCommand).join(""), "latin1");
  }

  #feed(chunk: Buffer, bytes: number): void {
    this.#scanner.feed(chunk, bytes);
    if (!this.#isClosed) this.events.chunkProcessed(this);
  }

  #reply(error: string | undefined): void {
    if (this.#isClosed) return;
    if (this.#introductions > 0) {
      if (error !== undefined) this.close(error);
      else if (--this.#introductions === 0) this.#begin();
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
