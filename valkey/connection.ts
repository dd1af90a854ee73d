/** A connection to one node through ioredis, which neither retries nor reconnects. Its errors say what to do. */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { Redis } from "ioredis";
import { BadInput, Failure, messageOf } from "../lib/errors";
import { type Dial, connectorOver } from "./connector";
import { type NodeAccess, type Endpoint, formatEndpoint } from "./node";

/** A client with one connection to one node. */
export type Connection = Redis;

/** Time limit, milliseconds. It applies to connecting and to each command. */
const TIMEOUT_MS = 10_000;

/**
 * Connects to a node and authenticates. A server that starts or stops may close a connection that it has just accepted.
 * Then the function tries once more.
 * @param name name of the node, for messages
 * @param dial opens the byte stream to the server. @default a TCP connection to the endpoint
 * @throws Failure when the server does not reply or refuses the credentials
 */
export async function connect(
  name: string,
  endpoint: Endpoint,
  access: NodeAccess,
  timeoutMs = TIMEOUT_MS,
  dial?: Dial,
): Promise<Connection> {
  const once = (): Promise<Connection> => connectOnce(name, endpoint, access, timeoutMs, dial);
  return once().catch((error: unknown) => {
    if (error instanceof ClosedEarly) return once();
    throw error;
  });
}

class ClosedEarly extends Failure {}

async function connectOnce(
  name: string,
  endpoint: Endpoint,
  access: NodeAccess,
  timeoutMs: number,
  dial: Dial | undefined,
): Promise<Connection> {
  let lastError: Error | undefined;
  const client = new Redis({
    ...endpoint,
    ...transport(endpoint, access, timeoutMs, dial),
    protocol: 2,
    lazyConnect: true,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
  });
  client.on("error", (error: Error) => (lastError = error));
  const address = formatEndpoint(endpoint);
  const where = name === address ? name : `${name} (${address})`;
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    const cause = lastError ?? error;
    // The reason contains an address of IPv6 without brackets.
    const why = [address, `${endpoint.host}:${endpoint.port}`].reduce(
      (text, each) => text.replace(` ${each}`, ""),
      messageOf(cause),
    );
    throw new Failure(`${where} cannot be reached: ${why}`, { cause });
  }
  try {
    await authenticate(client, access);
    return client;
  } catch (error) {
    client.disconnect();
    const isAnswer = error instanceof Failure || (error instanceof Error && error.name === "ReplyError");
    const Kind = isAnswer || isTimeout(error) ? Failure : ClosedEarly;
    throw new Kind(`${where}: ${messageOf(lastError ?? error)}`, { cause: lastError ?? error });
  }
}

/** Thrown when a server refuses the password, and also the former password if one is known. */
export class PasswordRefused extends Failure {
  constructor() {
    super("the server refuses the password");
  }
}

/** All causes of an error must be timeouts. Compares messages, because ioredis has no error class for them. */
export function isTimeout(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isTimeout);
  if (error instanceof Failure && error.cause !== undefined) return isTimeout(error.cause);
  return /^(connect ETIMEDOUT|no answer to the TLS handshake|Command timed out)/.test(messageOf(error));
}

/** Whether an error says that the server's certificate is not trusted, has expired, or is for a different host. */
export function isCertificateProblem(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/.test(code);
}

/** Both work with and without TLS. */
function transport(
  { host }: Endpoint,
  access: NodeAccess,
  timeoutMs: number,
  dial: Dial | undefined,
): { Connector?: ReturnType<typeof connectorOver>; tls?: ConnectionOptions } {
  const tls = access.tls === undefined ? undefined : tlsOptions(access, host);
  if (dial !== undefined)
    return { Connector: connectorOver(dial, tls === undefined ? undefined : { ...tls, host }, timeoutMs) };
  return tls === undefined ? {} : { tls };
}

/** Dragonfly and Redis before version 7 accept only one section per command, and return all of INFO. */
export async function readInfoSections(connection: Connection, ...sections: readonly string[]): Promise<string> {
  try {
    return await connection.info(...(sections as [string]));
  } catch (error) {
    if (!/syntax error/i.test(messageOf(error))) throw error;
    return connection.info("all");
  }
}

/** With a wrong or unnecessary password, the authentication of ioredis only warns and continues. @throws Failure */
async function authenticate(client: Redis, access: NodeAccess): Promise<void> {
  const { username, password, formerPassword } = access;
  try {
    if (password === undefined) await client.ping();
    else await (username === undefined ? client.auth(password) : client.auth(username, password));
  } catch (error) {
    const message = messageOf(error);
    if (message.startsWith("WRONGPASS") && formerPassword !== undefined) {
      await authenticate(client, { ...access, password: formerPassword, formerPassword: undefined });
      return;
    }
    if (message.startsWith("NOAUTH")) throw new Failure("the server requires a password: set VALKEY_PASSWORD");
    if (message.startsWith("WRONGPASS")) throw new PasswordRefused();
    if (message.includes("without any password configured"))
      throw new Failure("the server has no password, but one was given; connect without a password");
    // A server that replies LOADING, MASTERDOWN or BUSY can be reached; its INFO reports the same state later.
    if (!/^(LOADING|MASTERDOWN|BUSY)/.test(message)) throw error;
  }
}

/** @throws BadInput when a file cannot be read */
export function tlsOptions({ tls }: NodeAccess, host: string): ConnectionOptions {
  const isAddress = /^[\d.]+$|:/.test(host);
  return {
    ...(tls?.ca === undefined ? readFile("ca", tls?.cacert) : { ca: tls.ca }),
    ...readFile("cert", tls?.cert),
    ...readFile("key", tls?.key),
    // TLS forbids addresses as server names (RFC 6066).
    servername: tls?.sni ?? (isAddress ? "" : host),
    rejectUnauthorized: tls?.insecure !== true,
    ...(tls?.anyName === true ? { checkServerIdentity: () => undefined } : {}),
  };
}

function readFile(option: "ca" | "cert" | "key", path: string | undefined): ConnectionOptions {
  if (path === undefined) return {};
  try {
    return { [option]: readFileSync(path) };
  } catch (error) {
    throw BadInput.of("TLS", "unusable-certificate", messageOf(error));
  }
}
