/**
 * One TCP connection to a pod, through a websocket to the API server. That of the client library does not end with the
 * other side, does not wait for slow readers, and hides why the API server refused.
 */
import { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { Failure, messageOf } from "../../../lib/errors";
import type { KubernetesClient } from "./client";
import { explainApiError, explainStatus, parseStatus } from "./api-errors";

/** Each frame begins with a channel: one for data and one for errors of each port. */
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
/** First byte of each frame with data. */
const CHANNEL = Buffer.from([DATA]);
/** Length of the port number at the beginning of each channel's first frame. */
const PORT_BYTES = 2;
const OPEN_TIMEOUT_MS = 15_000;
/** Load balancers drop connections that are silent for minutes. */
const KEEP_ALIVE_MS = 30_000;

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** The API server accepted it, but the pod does not answer. A later attempt may succeed. */
export class PortForwardBroken extends Failure {}

/** If no program listens on the port, the stream fails later. @throws Failure with a reason that says what to do */
export async function openPortForward(kubernetes: KubernetesClient, target: PodPort): Promise<Duplex> {
  const { namespace, pod, port } = target;
  const doing = `a port-forward to ${pod}`;
  const options = { handshakeTimeout: OPEN_TIMEOUT_MS };
  try {
    await kubernetes.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw new Failure(explainApiError(error, doing, kubernetes), { cause: error });
  }
  const server = kubernetes.server.replace(/^http/, "ws").replace(/\/$/, "");
  const url = new URL(
    `${server}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`,
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
      resolve(new PortForward(socket, target));
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

class PortForward extends Duplex {
  /** Channels whose first frame has arrived: only that frame contains the port number. */
  readonly #announced = new Set<number>();
  readonly #keepAlive: NodeJS.Timeout;

  constructor(
    private readonly socket: WebSocket,
    private readonly target: PodPort,
  ) {
    super({ allowHalfOpen: false });
    // The stream may fail before its user listens for errors. The user then finds the stream destroyed, with the
    // reason.
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
    this.socket.send(Buffer.concat([CHANNEL, chunk]), done);
  }

  /** Sends what was written during an earlier send as one frame, because the API server copies frame by frame. */
  override _writev(chunks: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.socket.send(Buffer.concat([CHANNEL, ...chunks.map(({ chunk }) => chunk)]), done);
  }

  override _final(done: () => void): void {
    this.socket.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#keepAlive);
    // Later errors of the socket are ignored.
    this.socket.removeAllListeners().on("error", () => undefined);
    this.socket.terminate();
    done(error);
  }
}

function whyIn(text: string, { pod, port }: PodPort): string {
  if (/connection refused/i.test(text)) return `nothing listens on port ${port} of ${pod} yet`;
  return `the port-forward to ${pod} broke: ${messageOf(text).trim()}`;
}
