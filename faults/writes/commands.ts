import { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import { ReplyError } from "ioredis";
import { messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import { errorPrefix, parseRedirect } from "../../valkey/error-replies";
import type { Endpoint } from "../../valkey/node";
import type { Acknowledgement } from "../plan/scenario";
import type { KeyContent } from "./accounting";
import type { ConnectionPool } from "./connection-pool";
import type { RoutingTable } from "./routing-table";
import type { WriteErrorCode, WriteOutcome } from "./write-history";
import { CONNECTION_LOST, CONNECTION_REFUSED, NOT_REPLICATED, TIMEOUT, TOO_MANY_REDIRECTS } from "./write-history";
import type { WriteKey } from "./write-keys";

const CHECKSUM = 8;

/** Highest number of redirects that one command follows. redis-py and other cluster clients use the same number. */
const MAX_REDIRECTS = 16;
const TRY_AGAIN_MS = 10;
const READ_ATTEMPTS = 20;
const READ_RETRY_MS = 100;

export interface ClientRoutes {
  readonly routes: RoutingTable;
  readonly connections: ConnectionPool;
}

interface NextTarget {
  readonly endpoint: Endpoint | undefined;
  readonly asking: boolean;
}

/** After a lost connection or a timeout, the write is not sent again. */
export async function sendWrite(
  key: WriteKey,
  value: string,
  acknowledgement: Acknowledgement,
  { routes, connections }: ClientRoutes,
): Promise<{ readonly outcome: WriteOutcome; readonly redirects: number }> {
  let target: NextTarget = { endpoint: routes.owner(key.slot), asking: false };
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const { endpoint } = target;
    const connection = endpoint && (await connections.connectionTo(endpoint).catch(() => undefined));
    if (endpoint === undefined || connection === undefined)
      return { outcome: { kind: "failed", error: CONNECTION_REFUSED }, redirects };
    try {
      return { outcome: await set(connection, key.name, value, target.asking, acknowledgement), redirects };
    } catch (error) {
      if (!isErrorReply(error)) return { outcome: { kind: "unknown", error: transportError(error) }, redirects };
      const next = await followRedirect(error, key, endpoint, routes);
      if (next === undefined) return { outcome: { kind: "failed", error: errorPrefix(error.message) }, redirects };
      target = next;
    }
  }
  return { outcome: { kind: "failed", error: TOO_MANY_REDIRECTS }, redirects: MAX_REDIRECTS };
}

export async function readKey(
  key: Pick<WriteKey, "name" | "slot">,
  { routes, connections }: ClientRoutes,
): Promise<KeyContent> {
  let reason = "no node serves its slot";
  let endpoint = routes.owner(key.slot);
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    try {
      if (endpoint !== undefined) return contentOf(key, await (await connections.connectionTo(endpoint)).get(key.name));
    } catch (error) {
      reason = messageOf(error);
      const redirect = endpoint && parseRedirect(reason, endpoint);
      if (redirect?.kind === "MOVED") {
        endpoint = redirect.endpoint;
        continue;
      }
    }
    routes.refreshSoon();
    await sleep(READ_RETRY_MS);
    endpoint = routes.owner(key.slot);
  }
  return { kind: "unread", reason };
}

function contentOf({ name }: Pick<WriteKey, "name">, value: string | null): KeyContent {
  if (value === null) return { kind: "gone" };
  const number = writeNumberOf(name, value);
  return number === undefined ? { kind: "damaged" } : { kind: "number", number };
}

async function set(
  connection: Connection,
  key: string,
  value: string,
  asking: boolean,
  { replicas, timeoutMs }: Acknowledgement,
): Promise<WriteOutcome> {
  // All commands are sent before the first reply is awaited, so that they take one round trip.
  const asked = asking ? connection.call("ASKING") : undefined;
  const isSet = connection.set(key, value);
  const waited = replicas > 0 ? connection.call("WAIT", replicas, timeoutMs) : undefined;
  for (const reply of [asked, waited]) reply?.catch(() => undefined);
  await isSet;
  if (waited === undefined) return { kind: "acknowledged" };
  try {
    return Number(await waited) >= replicas ? { kind: "acknowledged" } : { kind: "unknown", error: NOT_REPLICATED };
  } catch (error) {
    // The primary has the write, but it is unknown whether the replicas have it.
    return { kind: "unknown", error: isErrorReply(error) ? errorPrefix(error.message) : transportError(error) };
  }
}

async function followRedirect(
  { message }: Error,
  key: WriteKey,
  asked: Endpoint,
  routes: RoutingTable,
): Promise<NextTarget | undefined> {
  const redirect = parseRedirect(message, asked);
  switch (redirect?.kind) {
    case "MOVED":
    case "REDIRECT":
      routes.recordMove(key.slot, redirect.endpoint);
      return { endpoint: redirect.endpoint, asking: false };
    case "ASK":
      return { endpoint: redirect.endpoint, asking: true };
    case "TRYAGAIN":
      await sleep(TRY_AGAIN_MS);
      return { endpoint: asked, asking: false };
    case undefined:
      return undefined;
  }
}

/** Whether the error is a reply of the server itself, so that the outcome is certain. */
function isErrorReply(error: unknown): error is Error {
  return error instanceof ReplyError;
}

function transportError(error: unknown): WriteErrorCode {
  return /timed out/i.test(messageOf(error)) ? TIMEOUT : CONNECTION_LOST;
}

/** Number, length and checksum tell which write wrote a value. Padded to `bytes` characters. */
export function numberedValue(key: string, number: number, bytes: number): string {
  // In the shortest value, the length has two digits.
  const length = Math.max(bytes, `${number}:00:`.length + CHECKSUM + 1);
  return `${number}:${length}:${checksum(key, number)}:`.padEnd(length, "x");
}

/** The number of the write that wrote a value; undefined if the value is damaged or belongs to a different key. */
export function writeNumberOf(key: string, value: string): number | undefined {
  const match = /^(\d{1,15}):(\d{1,9}):([0-9a-f]{8}):x*$/.exec(value);
  const number = Number(match?.[1]);
  return match !== null && Number(match[2]) === value.length && match[3] === checksum(key, number) ? number : undefined;
}

function checksum(key: string, number: number): string {
  return createHash("sha256").update(`${key} ${number}`).digest("hex").slice(0, CHECKSUM);
}
