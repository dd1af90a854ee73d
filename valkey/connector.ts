/** What lets ioredis speak over bytes that travel otherwise than by TCP from here: a port-forward, for one. */
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { connect as startTls } from "node:tls";
import { AbstractConnector } from "ioredis";

/**
 * Opens a way to a server; what is written arrives there, and closing it closes the connection.
 * @throws Failure when there is none
 */
export type Dial = () => Promise<Duplex>;

/** What ioredis asks of a socket beside its bytes means nothing here. */
const NO_SOCKET_OPTIONS = {
  setNoDelay: nothing,
  setKeepAlive: nothing,
  setTimeout: nothing,
  connecting: false,
};

/** How long a server may take to see that its connection was ended, milliseconds. */
const DISCONNECT_TIMEOUT_MS = 2_000;

/** A connector for ioredis' option of that name. */
export function connectorOver(
  dial: Dial,
  tls: ConnectionOptions | undefined,
): new (options: unknown) => AbstractConnector {
  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
    }

    async connect(): Promise<Socket> {
      this.connecting = true;
      const way = await dial();
      const stream =
        tls === undefined ? (Object.assign(way, NO_SOCKET_OPTIONS) as unknown as Socket) : await secured(way, tls);
      stream.once("error", (error: Error) => (this.firstError = error));
      // A way may have ended in the moment in which it was opened.
      if (way.errored !== null) this.firstError ??= way.errored;
      this.stream = stream;
      // Told to disconnect meanwhile.
      if (!this.connecting as boolean) stream.destroy();
      return stream;
    }
  };
}

async function secured(way: Duplex, tls: ConnectionOptions): Promise<Socket> {
  const stream = startTls({ ...tls, socket: way });
  // An end of the way below would otherwise leave the handshake waiting.
  way.once("error", (error) => stream.destroy(error));
  try {
    await once(stream, "secureConnect");
    return stream;
  } catch (error) {
    way.destroy();
    throw error;
  }
}

function nothing(): void {
  // See NO_SOCKET_OPTIONS.
}
