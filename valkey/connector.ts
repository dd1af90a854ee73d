/** Connects ioredis over any byte stream instead of a TCP socket, for example over a Kubernetes port-forward. */
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as startTls } from "node:tls";
import { AbstractConnector } from "ioredis";

/**
 * Opens a stream of bytes to a server. Closing the stream closes the connection.
 * @throws Failure when no stream can be opened
 */
export type Dial = () => Promise<Duplex>;

/** Methods and properties of a socket that ioredis uses and a plain stream lacks. */
const SOCKET_STUBS = { setNoDelay: noop, setKeepAlive: noop, setTimeout: noop, connecting: false };

/** Time limit for a closed stream to end, milliseconds. After this time, ioredis destroys the stream. */
const DISCONNECT_TIMEOUT_MS = 2_000;

export function connectorOver(
  dial: Dial,
  tls: ConnectionOptions | undefined,
  handshakeMs: number,
): new (options: unknown) => AbstractConnector {
  return class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
    }

    async connect(): Promise<Socket> {
      this.connecting = true;
      const bytes = await dial();
      const stream = tls === undefined ? withSocketStubs(bytes) : await startSecure(bytes, tls, handshakeMs);
      stream.once("error", (error: Error) => (this.firstError = error));
      // The stream may have failed before the listener above was added.
      if (bytes.errored !== null) this.firstError ??= bytes.errored;
      this.stream = stream;
      // disconnect() may have been called while the stream was being opened.
      if (!this.connecting as boolean) stream.destroy();
      return stream;
    }
  };
}

function withSocketStubs(bytes: Duplex): Socket {
  return Object.assign(bytes, SOCKET_STUBS) as unknown as Socket;
}

/** @throws the error of the stream or of TLS */
export async function startSecure(bytes: Duplex, tls: ConnectionOptions, handshakeMs: number): Promise<Socket> {
  const stream = startTls({ ...tls, socket: bytes });
  // The stream may emit several errors: its own, an error of the stream below it, and errors after its user has removed
  // its listeners.
  stream.on("error", noop);
  // Without these listeners, the handshake would wait forever if the stream below fails or ends.
  bytes.once("error", (error) => stream.destroy(error));
  const onClose = (): void => void stream.destroy(new Error("the connection was closed before it was encrypted"));
  bytes.once("close", onClose);
  const timer = setTimeout(() => {
    stream.destroy(new Error(`no answer to the TLS handshake within ${handshakeMs / 1000} s`));
  }, handshakeMs);
  try {
    await once(stream, "secureConnect");
    return stream;
  } catch (error) {
    bytes.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    bytes.off("close", onClose);
  }
}

function noop(): void {
  // Nothing to do.
}
