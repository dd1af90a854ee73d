/** A TCP proxy that delays requests and records by how much. */
import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";
import type { Endpoint } from "../../../valkey/node";

export class DelayingProxy {
  /** Delay of each chunk to the server, milliseconds. */
  readonly held: number[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly endpoint: Endpoint,
  ) {}

  /** @param delayMs for requests; replies are not delayed */
  static async open(to: Endpoint, delayMs: number): Promise<DelayingProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    const proxy = new DelayingProxy(server, { host: "127.0.0.1", port: address.port });
    server.on("connection", (client) => {
      proxy.#join(client, connect(to), delayMs);
    });
    return proxy;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #join(client: Socket, upstream: Socket, delayMs: number): void {
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (chunk) => {
      const began = performance.now();
      const pass = (): void => {
        this.held.push(performance.now() - began);
        upstream.write(chunk);
      };
      if (delayMs === 0) pass();
      else setTimeout(pass, delayMs);
    });
    upstream.on("data", (chunk) => client.write(chunk));
  }
}
