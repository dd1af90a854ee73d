/** Connections to nodes, over ioredis: no retries, no reconnects, errors that say which node and what to do. */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { Redis } from "ioredis";
import type { Dial } from "./connector";
import { connectorOver } from "./connector";
import type { Access, Endpoint } from "./node";
import { formatEndpoint } from "./node";
import { BadInput, Failure, messageOf } from "../lib/errors";

/** What this project uses of a client. */
export type Connection = Redis;

/** How long connecting, and any one command, may take, milliseconds. */
const TIMEOUT_MS = 10_000;

/**
 * Connects and authenticates.
 * @param name the node's, for messages
 * @param dial how its bytes travel, where not over TCP from here to the endpoint
 * @throws Failure when there is no answer or the credentials do not fit
 */
export async function connect(
  name: string,
  endpoint: Endpoint,
  access: Access,
  timeoutMs = TIMEOUT_MS,
  dial?: Dial,
): Promise<Connection> {
  let lastError: Error | undefined;
  const tls = access.tls === undefined ? undefined : tlsOptions(access, endpoint.host);
  const client = new Redis({
    ...endpoint,
    ...(dial !== undefined
      ? { Connector: connectorOver(dial, tls === undefined ? undefined : { ...tls, host: endpoint.host }) }
      : tls === undefined
        ? {}
        : { tls }),
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
  const where = `${name} (${formatEndpoint(endpoint)})`;
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    throw new Failure(`${where} cannot be reached: ${messageOf(lastError ?? error)}`, { cause: lastError ?? error });
  }
  try {
    await authenticate(client, access);
    return client;
  } catch (error) {
    client.disconnect();
    throw new Failure(`${where}: ${messageOf(lastError ?? error)}`, { cause: lastError ?? error });
  }
}

/** Sections of INFO; all of it from servers that take one section at a time (Dragonfly, Redis before 7). */
export async function readInfoSections(connection: Connection, ...sections: readonly string[]): Promise<string> {
  try {
    return await connection.info(...(sections as [string]));
  } catch (error) {
    if (!/syntax error/i.test(messageOf(error))) throw error;
    return connection.info("all");
  }
}

/**
 * By a command of ours and not ioredis', which lets a wrong or superfluous password pass with a warning.
 * @throws Failure in words a user can act on
 */
async function authenticate(client: Redis, access: Access): Promise<void> {
  const { username, password } = access;
  try {
    if (password === undefined) await client.ping();
    else await (username === undefined ? client.auth(password) : client.auth(username, password));
  } catch (error) {
    const message = messageOf(error);
    if (message.startsWith("NOAUTH")) throw new Failure("wants a password, and none was given (VALKEY_PASSWORD)");
    if (message.startsWith("WRONGPASS")) throw new Failure("refuses the password that was given");
    if (message.includes("without any password configured")) throw new Failure("has no password, but one was given");
    // LOADING and the like: the node is there and says so itself.
    if (!/^(LOADING|MASTERDOWN|BUSY)/.test(message)) throw error;
  }
}

/** For TLS to a host. @throws BadInput when a file cannot be read */
export function tlsOptions({ tls }: Access, host: string): ConnectionOptions {
  const file = (path: string | undefined): Buffer | undefined => {
    if (path === undefined) return undefined;
    try {
      return readFileSync(path);
    } catch (error) {
      throw new BadInput("TLS", [messageOf(error)]);
    }
  };
  const ca = file(tls?.cacert);
  const cert = file(tls?.cert);
  const key = file(tls?.key);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    servername: tls?.sni ?? (/^[\d.]+$|:/.test(host) ? "" : host),
    rejectUnauthorized: tls?.insecure !== true,
    ...(tls?.anyName === true ? { checkServerIdentity: () => undefined } : {}),
  };
}
