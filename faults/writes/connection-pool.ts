/** Connections of a client that lives through failures: one per node and lane, made when they are needed, made anew when they break. */
import type { Connection } from "../../valkey/connection";
import type { Endpoint } from "../../valkey/node";
import { formatEndpoint } from "../../valkey/node";
/** @throws Failure when there is no way to the node in time */
export type Dialer = (endpoint: Endpoint) => Promise<Connection>;

/** A node that refused is left alone for so long: every write would else try it anew. Milliseconds. */
const PAUSE_MS = 20;

class Link {
  #opening: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #refusedAt = -Infinity;
  #refusal: unknown;
  #closed = false;

  constructor(private readonly dial: () => Promise<Connection>) {}

  /** A connection that works as far as anyone knows. @throws what kept it from being made */
  async ready(): Promise<Connection> {
    if (this.#connection?.status === "ready") return this.#connection;
    if (performance.now() - this.#refusedAt < PAUSE_MS) throw this.#refusal;
    this.#opening ??= this.#open();
    return this.#opening;
  }

  close(): void {
    this.#closed = true;
    this.#connection?.disconnect();
  }

  async #open(): Promise<Connection> {
    try {
      this.#connection?.disconnect();
      this.#connection = undefined;
      const connection = await this.dial();
      if (this.#closed) connection.disconnect();
      this.#connection = connection;
      return connection;
    } catch (error) {
      this.#refusedAt = performance.now();
      this.#refusal = error;
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }
}

export class ConnectionPool {
  readonly #links = new Map<string, Link>();
  #turn = 0;

  /** @param lanes connections per node, taken in turn: a command that waits holds up only its own */
  constructor(
    private readonly dial: Dialer,
    private readonly lanes = 1,
  ) {}

  connectionTo(endpoint: Endpoint): Promise<Connection> {
    const name = `${formatEndpoint(endpoint)}/${this.#turn++ % this.lanes}`;
    let link = this.#links.get(name);
    if (link === undefined) {
      link = new Link(() => this.dial(endpoint));
      this.#links.set(name, link);
    }
    return link.ready();
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }
}
