import { type Endpoint, type NodeAccess, formatEndpoint } from "../../../../valkey/node";
import { Pipeline } from "../../../../valkey/pipeline";
import { encodeCommand } from "../../../../valkey/resp";
import type { TimedRequest } from "../requests/request";

interface LoadNodeOptions {
  readonly endpoint: Endpoint;
  readonly access: NodeAccess;
  /** Without READONLY, a replica of a cluster redirects reads. */
  readonly readsFromReplica: boolean;
  readonly connections: number;
  readonly pipeline: number;
}

export interface LoadNodeEvents {
  readonly reply: (node: LoadNode, request: TimedRequest, error: string | undefined) => void;
  readonly disconnected: (node: LoadNode, unanswered: readonly TimedRequest[], reason: string) => void;
  readonly sent: (request: TimedRequest) => void;
}

/** The time between attempts to connect doubles with each failed attempt, milliseconds. */
const MIN_RETRY_MS = 20;
const MAX_RETRY_MS = 500;
const CONNECT_TIMEOUT_MS = 2_000;
const ASKING = encodeCommand(["ASKING"]);

export class LoadNode {
  readonly #connections = new Set<Pipeline<TimedRequest>>();
  readonly #idle: Pipeline<TimedRequest>[] = [];
  readonly #busy = new Set<Pipeline<TimedRequest>>();
  #queue: TimedRequest[] = [];
  #head = 0;
  #isClosed = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Reason why a connection last closed; undefined as soon as a connection is open again. */
  lastError: string | undefined;
  reconnects = 0;

  constructor(
    private readonly options: LoadNodeOptions,
    private readonly events: LoadNodeEvents,
  ) {
    for (let i = 0; i < options.connections; i++) this.#connect(MIN_RETRY_MS);
  }

  get endpoint(): Endpoint {
    return this.options.endpoint;
  }

  get name(): string {
    return formatEndpoint(this.options.endpoint);
  }

  get readyConnections(): number {
    return [...this.#connections].filter(({ isReady }) => isReady).length;
  }

  get isReady(): boolean {
    return this.readyConnections === this.options.connections;
  }

  enqueue(request: TimedRequest): void {
    this.#queue.push(request);
  }

  sendQueued(): void {
    while (this.#head < this.#queue.length) {
      const connection = this.#idle.shift();
      if (connection === undefined) return;
      const requests = this.#queue.slice(this.#head, this.#head + this.options.pipeline);
      this.#head += requests.length;
      this.#compact();
      this.#send(connection, requests);
    }
  }

  takeQueued(): TimedRequest[] {
    const taken = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    return taken;
  }

  /** The queue is in the order of intended times. @param ms milliseconds since the epoch */
  takeQueuedBefore(ms: number): TimedRequest[] {
    const taken: TimedRequest[] = [];
    for (;;) {
      const request = this.#queue[this.#head];
      if (request === undefined || request.intendedMs >= ms) break;
      taken.push(request);
      this.#head++;
    }
    this.#compact();
    return taken;
  }

  /** The whole connection, because a late reply cannot be skipped. @param ms milliseconds since the epoch */
  closeTimedOut(ms: number): void {
    for (const connection of this.#connections) {
      const { oldestUnanswered } = connection;
      if (oldestUnanswered !== undefined && oldestUnanswered.intendedMs < ms) connection.close("timeout");
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const connection of this.#connections) connection.close("stopped");
  }

  #compact(): void {
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
    } else if (this.#head > 4096 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #send(connection: Pipeline<TimedRequest>, requests: readonly TimedRequest[]): void {
    let text = "";
    for (const request of requests) {
      this.events.sent(request);
      if (request.isAsking) {
        text += ASKING;
        connection.expectReply(undefined);
      }
      text += request.operation.command;
      connection.expectReply(request);
    }
    this.#busy.add(connection);
    connection.write(text);
  }

  /** @param retryMs time until the next attempt if this attempt fails, milliseconds */
  #connect(retryMs: number): void {
    const { endpoint, access, readsFromReplica } = this.options;
    let wasReady = false;
    const plan = { endpoint, access, greeting: readsFromReplica ? [["READONLY"]] : [], connectMs: CONNECT_TIMEOUT_MS };
    const connection = new Pipeline<TimedRequest>(plan, {
      ready: () => {
        wasReady = true;
        this.lastError = undefined;
        this.#setIdle(connection);
      },
      reply: (request, error) => {
        this.events.reply(this, request, error);
      },
      chunkProcessed: () => {
        if (connection.inFlight === 0 && this.#busy.delete(connection)) this.#setIdle(connection);
      },
      closed: (unanswered, reason) => {
        this.#connections.delete(connection);
        this.#busy.delete(connection);
        const index = this.#idle.indexOf(connection);
        if (index >= 0) this.#idle.splice(index, 1);
        this.lastError = reason;
        if (!this.#isClosed) this.#reconnect(wasReady ? MIN_RETRY_MS : retryMs);
        this.events.disconnected(this, unanswered, reason);
      },
    });
    this.#connections.add(connection);
  }

  #setIdle(connection: Pipeline<TimedRequest>): void {
    this.#idle.push(connection);
    this.sendQueued();
  }

  #reconnect(retryMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.reconnects++;
      this.#connect(Math.min(MAX_RETRY_MS, retryMs * 2));
    }, retryMs);
    this.#timers.add(timer);
  }
}
