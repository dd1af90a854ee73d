import type { Connection } from "../../valkey/connection";
import { type Endpoint, formatEndpoint } from "../../valkey/node";

/** @throws Failure when the node cannot be reached in time */
export type Dialer = (endpoint: Endpoint) => Promise<Connection>;

/** Without the pause, every write to a failed node would try to connect. */
const RETRY_AFTER_MS = 20;

class PooledConnection {
  #opening: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #failedAtMs = -Infinity;
  #failure: unknown;
  #isClosed = false;

  constructor(private readonly dial: () => Promise<Connection>) {}

  async open(): Promise<Connection> {
    if (this.#connection?.status === "ready") return this.#connection;
    if (performance.now() - this.#failedAtMs < RETRY_AFTER_MS) throw this.#failure;
    this.#opening ??= this.#reopen();
    return this.#opening;
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.disconnect();
  }

  async #reopen(): Promise<Connection> {
    try {
      this.#connection?.disconnect();
      this.#connection = undefined;
      const connection = await this.dial();
      if (this.#isClosed) connection.disconnect();
      this.#connection = connection;
      return connection;
    } catch (error) {
      this.#failedAtMs = performance.now();
      this.#failure = error;
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }
}

export class ConnectionPool {
  readonly #connections = new Map<string, PooledConnection>();
  #used = 0;

  /** @param perNode connections, used in turn, because a blocking command delays all others on its own */
  constructor(
    private readonly dial: Dialer,
    private readonly perNode = 1,
  ) {}

  connectionTo(endpoint: Endpoint): Promise<Connection> {
    const name = `${formatEndpoint(endpoint)}/${this.#used++ % this.perNode}`;
    let pooled = this.#connections.get(name);
    if (pooled === undefined) {
      pooled = new PooledConnection(() => this.dial(endpoint));
      this.#connections.set(name, pooled);
    }
    return pooled.open();
  }

  close(): void {
    for (const pooled of this.#connections.values()) pooled.close();
  }
}
