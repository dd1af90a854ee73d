/**
 * A port-forward: the bytes of one TCP connection to a pod, over a websocket through the API server. In place of the
 * client library's, which ends neither stream when the other side goes, waits for no slow reader and does not
 * tell why the API server refused.
 */
import { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { Failure, messageOf } from "../../lib/errors";
import type { KubernetesClient } from "./client";
import { explainApiError, explainStatus, parseStatus } from "./api-errors";

/** Frames begin with a channel: two for each port, and only one port is asked for. */
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
/** The first frame of each channel says the port, in two bytes. */
const PORT_BYTES = 2;
/** How long opening may take, milliseconds. */
const OPEN_TIMEOUT_MS = 15_000;
/** Load balancers before API servers drop what is silent for minutes. */
const KEEP_ALIVE_MS = 30_000;

/** A pod's port. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** The way is there, but nothing at its end, or not any more: that may change by itself. */
export class PortForwardBroken extends Failure {}

/**
 * Opens a tunnel. That nothing listens on the port shows only afterwards, as an error of the stream's.
 * @throws Failure saying who refused, and what to do
 */
export async function openPortForward(kubernetes: KubernetesClient, target: PodPort): Promise<Duplex> {
  const { namespace, pod, port } = target;
  const doing = `a port-forward to ${pod}`;
  const options = { handshakeTimeout: OPEN_TIMEOUT_MS };
  try {
    await kubernetes.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw new Failure(explainApiError(error, doing, kubernetes), { cause: error });
  }
  const url = new URL(
    `${kubernetes.server.replace(/^http/, "ws").replace(/\/$/, "")}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`,
  );
  url.searchParams.set("ports", String(port));
  const socket = new WebSocket(url, [PROTOCOL], options);
  return new Promise((resolve, reject) => {
    const fail = (failure: Failure): void => {
      reject(failure);
      socket.terminate();
    };
    const refused = (status: number, body: string): void => {
      const why = explainStatus(parseStatus(status, body), doing, kubernetes);
      fail(status === 404 || status >= 500 ? new PortForwardBroken(why) : new Failure(why));
    };
    socket.once("open", () => {
      socket.removeAllListeners();
      resolve(new Tunnel(socket, target));
    });
    socket.once("error", (error) => {
      fail(new Failure(explainApiError(error, doing, kubernetes), { cause: error }));
    });
    socket.once("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString()));
      response.on("close", () => {
        refused(response.statusCode ?? 0, body);
      });
    });
  });
}

class Tunnel extends Duplex {
  /** Channels of which the first frame has come. */
  readonly #announced = new Set<number>();
  readonly #keepAlive: NodeJS.Timeout;

  constructor(
    private readonly socket: WebSocket,
    private readonly target: PodPort,
  ) {
    super({ allowHalfOpen: false });
    // It may break before whoever opened it listens: then it is found destroyed, with the reason.
    this.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      this.#receive(data);
    });
    socket.on("error", (error) => {
      this.destroy(error);
    });
    socket.on("close", () => {
      this.push(null);
    });
    this.#keepAlive = setInterval(() => {
      socket.ping();
    }, KEEP_ALIVE_MS).unref();
  }

  #receive(frame: Buffer): void {
    const [channel] = frame;
    if (channel === undefined) return;
    const isFirst = !this.#announced.has(channel);
    this.#announced.add(channel);
    const data = frame.subarray(1 + (isFirst ? PORT_BYTES : 0));
    if (data.length === 0) return;
    if (channel !== DATA) this.destroy(new PortForwardBroken(whyIn(data.toString(), this.target)));
    else if (!this.push(data)) this.socket.pause();
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const frame = Buffer.allocUnsafe(chunk.length + 1);
    frame[0] = DATA;
    chunk.copy(frame, 1);
    this.socket.send(frame, done);
  }

  override _final(done: () => void): void {
    this.socket.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#keepAlive);
    // What a socket says after its tunnel is gone is no news.
    this.socket.removeAllListeners().on("error", () => undefined);
    this.socket.terminate();
    done(error);
  }
}

/** The machine's word on why nothing comes of it, without how it went about it. */
function whyIn(text: string, { pod, port }: PodPort): string {
  if (/connection refused/i.test(text)) return `nothing listens on port ${port} of ${pod} yet`;
  return `the port-forward to ${pod} broke: ${messageOf(text).trim()}`;
}
