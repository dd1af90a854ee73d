import type { Duplex } from "node:stream";
import { Failure, messageOf } from "../../lib/errors";
import { type Endpoint, type NodeAccess, formatEndpoint } from "../../valkey/node";
import { ByteReader } from "./byte-reader";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { tlsOptions } from "../../valkey/connection";
import { startSecure } from "../../valkey/connector";

export interface StreamSource {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** Credentials. The user needs the permissions `+psync +replconf +ping +info`. */
  readonly access: NodeAccess;
}

export interface StreamPosition {
  readonly replid: string;
  readonly offset: number;
}

/** A new attempt does not help. */
export class StreamRefused extends Failure {
  constructor(message: string) {
    super(message);
    this.name = "StreamRefused";
  }
}

type SyncReply =
  | { readonly kind: "full"; readonly position: StreamPosition }
  /** `replid` differs from the requested one after a failover. */
  | { readonly kind: "continued"; readonly replid: string };

/** Error replies of a server that a later attempt would get again. */
const REFUSED = /^-(WRONGPASS|NOAUTH|NOPERM)/;
const TIMEOUT_MS = 10_000;
/** A server sends the newest RDB version that the replica knows, and fails if the data need a newer one. */
const ANNOUNCED_VERSION = "9.1.0";
/** Sentinels take every replica for a server and never forget it, unless its port is not valid. 0 counts as valid. */
const NO_PORT = 65_536;

export class ReplicaLink {
  private constructor(
    readonly reader: ByteReader,
    readonly where: string,
    private readonly stream: Duplex,
  ) {}

  static async open(source: StreamSource, timeoutMs = TIMEOUT_MS): Promise<ReplicaLink> {
    const where = `${source.name} (${formatEndpoint(source.endpoint)})`;
    let stream: Duplex;
    try {
      stream = await openStream(source, timeoutMs);
    } catch (error) {
      throw new Failure(`${where} cannot be reached: ${messageOf(error)}`, { cause: error });
    }
    // Errors reach the reader, too.
    stream.on("error", () => undefined);
    const link = new ReplicaLink(new ByteReader(stream), where, stream);
    try {
      await link.#introduce(source.access, timeoutMs);
      return link;
    } catch (error) {
      link.close();
      const message = `${where}: ${messageOf(error)}`;
      throw error instanceof StreamRefused ? new StreamRefused(message) : new Failure(message, { cause: error });
    }
  }

  /** @param position after the last received byte; undefined requests an RDB file. @throws Failure */
  async sync(position: StreamPosition | undefined): Promise<SyncReply> {
    // The first byte of the stream has the number 1.
    if (position === undefined) this.#send("PSYNC", "?", "-1");
    else this.#send("PSYNC", position.replid, String(position.offset + 1));
    const reply = await this.#reply();
    const full = /^\+FULLRESYNC ([0-9a-f]{40}) (\d+)$/.exec(reply);
    if (full !== null) {
      const [, replid = "", offset] = full;
      return { kind: "full", position: { replid, offset: Number(offset) } };
    }
    const continued = /^\+CONTINUE(?: ([0-9a-f]{40}))?$/.exec(reply);
    if (continued !== null && position !== undefined)
      return { kind: "continued", replid: continued[1] ?? position.replid };
    const message = `${this.where} replied to PSYNC: ${reply.replace(/^-/, "").slice(0, 200)}`;
    throw REFUSED.test(reply) ? new StreamRefused(message) : new Failure(message);
  }

  acknowledge(offset: number): void {
    this.#send("REPLCONF", "ACK", String(offset));
  }

  close(): void {
    this.stream.destroy();
  }

  async #introduce({ username = "default", password, formerPassword }: NodeAccess, timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      this.stream.destroy(new Failure(`no answer within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    try {
      if (password !== undefined) await this.#authenticate(username, password, formerPassword);
      await this.#request("PING");
      await this.#request("REPLCONF", "listening-port", String(NO_PORT));
      await this.#request("REPLCONF", "capa", "eof", "capa", "psync2");
      // Redis 7.0 does not know the word "version", and needs none.
      await this.#request("REPLCONF", "version", ANNOUNCED_VERSION).catch(ignoreUnknownOption);
    } finally {
      clearTimeout(timer);
    }
  }

  async #authenticate(username: string, password: string, formerPassword: string | undefined): Promise<void> {
    try {
      await this.#request("AUTH", username, password);
    } catch (error) {
      if (formerPassword === undefined || !messageOf(error).startsWith("WRONGPASS")) throw error;
      await this.#request("AUTH", username, formerPassword);
    }
  }

  async #request(...words: readonly string[]): Promise<void> {
    this.#send(...words);
    const reply = await this.#reply();
    // A replica that has lost its primary, or a server that loads its data, answers later.
    if (!reply.startsWith("-") || /^-(LOADING|MASTERDOWN|BUSY)/.test(reply)) return;
    const message = reply.slice(1);
    throw REFUSED.test(reply) ? new StreamRefused(message) : new Failure(message);
  }

  /** While a server prepares a reply, it sends empty lines so that the connection stays open. */
  async #reply(): Promise<string> {
    for (;;) {
      const line = await this.reader.line();
      if (line !== "") return line;
    }
  }

  #send(...words: readonly string[]): void {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.stream.write(`*${words.length}\r\n${parts.join("")}`);
  }
}

function ignoreUnknownOption(error: unknown): void {
  if (!/Unrecognized REPLCONF option/i.test(messageOf(error))) throw error;
}

/** Does not authenticate. @throws Failure if the server does not answer in time; errors of the socket and of TLS */
async function openStream(
  { endpoint, access }: { readonly endpoint: Endpoint; readonly access: NodeAccess },
  timeoutMs: number,
): Promise<Duplex> {
  const bytes = await dialTcp(endpoint, timeoutMs);
  return access.tls === undefined ? bytes : startSecure(bytes, tlsOptions(access, endpoint.host), timeoutMs);
}

async function dialTcp(endpoint: Endpoint, timeoutMs: number): Promise<Duplex> {
  const socket = connectTcp({ ...endpoint, noDelay: true, keepAlive: true });
  const timer = setTimeout(() => {
    socket.destroy(new Failure(`no connection within ${timeoutMs / 1000} s`));
  }, timeoutMs);
  try {
    await once(socket, "connect");
    return socket;
  } finally {
    clearTimeout(timer);
  }
}
