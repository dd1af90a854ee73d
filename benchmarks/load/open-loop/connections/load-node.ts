import type { Endpoint } from "../../../../valkey/node";
import { formatEndpoint } from "../../../../valkey/node";
import type { LoadConnectionOptions } from "./load-connection";
import { LoadConnection } from "./load-connection";
import type { TimedRequest } from "../requests/request";

export interface LoadNodeOptions extends LoadConnectionOptions {
  readonly connections: number;
  /** Requests in one write, and so in flight on one connection. */
  readonly pipeline: number;
}

/** Told of what happens on any connection of a node. */
export interface LoadNodeEvents {
  readonly reply: (node: LoadNode, request: TimedRequest, error: string | undefined) => void;
  readonly disconnected: (node: LoadNode, unanswered: readonly TimedRequest[], reason: string) => void;
  readonly sent: (request: TimedRequest) => void;
}

const LEAST_PAUSE_MS = 20;
const MOST_PAUSE_MS = 500;

export class LoadNode {
  readonly #connections = new Set<LoadConnection>();
  readonly #idle: LoadConnection[] = [];
  #queue: TimedRequest[] = [];
  #head = 0;
  #isClosed = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Why the last connection ended. */
  lastError: string | undefined;
  reconnects = 0;

  constructor(
    private readonly plan: LoadNodeOptions,
    private readonly events: LoadNodeEvents,
  ) {
    for (let i = 0; i < plan.connections; i++) this.#connect(LEAST_PAUSE_MS);
  }

  get endpoint(): Endpoint {
    return this.plan.endpoint;
  }

  get name(): string {
    return formatEndpoint(this.plan.endpoint);
  }

  get readyConnections(): number {
    return [...this.#connections].filter(({ isReady }) => isReady).length;
  }

  get isReady(): boolean {
    return this.readyConnections === this.plan.connections;
  }

  get queued(): number {
    return this.#queue.length - this.#head;
  }

  enqueue(request: TimedRequest): void {
    this.#queue.push(request);
  }

  /** Sends what waits, as far as there are connections with nothing in flight. */
  sendQueued(): void {
    while (this.#head < this.#queue.length) {
      const connection = this.#idle.shift();
      if (connection === undefined) return;
      const requests = this.#queue.slice(this.#head, this.#head + this.plan.pipeline);
      this.#head += requests.length;
      this.#compact();
      for (const request of requests) this.events.sent(request);
      connection.isIdle = false;
      connection.send(requests);
    }
  }

  /** Takes away every request that waits, to be sent elsewhere. */
  takeQueued(): TimedRequest[] {
    const taken = this.#queue.slice(this.#head);
    this.#queue = [];
    this.#head = 0;
    return taken;
  }

  /** Takes away those intended before that time, which are the first. */
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

  /** Ends connections whose oldest request was intended before that time: what comes of it cannot be told from what follows. */
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

  /** @param pauseMs how long to wait with the next attempt, should this one fail */
  #connect(pauseMs: number): void {
    let wasReady = false;
    const connection = new LoadConnection(this.plan, {
      ready: (ready) => {
        wasReady = true;
        this.lastError = undefined;
        this.#rest(ready);
      },
      reply: (request, error) => {
        this.events.reply(this, request, error);
      },
      chunkProcessed: (drained) => {
        if (drained.isReady && drained.inFlight === 0 && !drained.isIdle) this.#rest(drained);
      },
      closed: (closed, unanswered, reason) => {
        this.#connections.delete(closed);
        const index = this.#idle.indexOf(closed);
        if (index >= 0) this.#idle.splice(index, 1);
        this.lastError = reason;
        if (!this.#isClosed) this.#reconnect(wasReady ? LEAST_PAUSE_MS : pauseMs);
        this.events.disconnected(this, unanswered, reason);
      },
    });
    this.#connections.add(connection);
  }

  #rest(connection: LoadConnection): void {
    connection.isIdle = true;
    this.#idle.push(connection);
    this.sendQueued();
  }

  #reconnect(pauseMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.reconnects++;
      this.#connect(Math.min(MOST_PAUSE_MS, pauseMs * 2));
    }, pauseMs);
    this.#timers.add(timer);
  }
}
