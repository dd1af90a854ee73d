/**
 * Instruction of a server's error reply to a client: where to send the command instead, or that it failed. Pure. The
 * open-loop generator bundles this file, so it must not import a client library.
 */
import type { Endpoint } from "./node";

/**
 * An error reply that a client follows (https://valkey.io/topics/cluster-spec, "MOVED Redirection", "ASK redirection").
 */
export type Redirect =
  /** Another node serves the slot: permanently (`MOVED`), or for this command only (`ASK`, after ASKING). */
  | { readonly kind: "MOVED" | "ASK"; readonly slot: number; readonly endpoint: Endpoint }
  /**
   * The former primary names its successor in replication mode, to clients that sent CLIENT CAPA REDIRECT (Valkey 8.0).
   */
  | { readonly kind: "REDIRECT"; readonly endpoint: Endpoint }
  /** Some keys of the slot have been migrated and some have not: the same command again, a little later. */
  | { readonly kind: "TRYAGAIN" };

/**
 * Reads a redirect from the text of an error reply.
 * @param asked the node that replied: a redirect without a host (`MOVED 5 :7001`, `MOVED 5 ?:7001`) means its host
 * @returns undefined when the error is not a redirect
 */
export function parseRedirect(error: string, asked: Endpoint): Redirect | undefined {
  const [kind = "", ...words] = error.split(" ");
  if (kind === "TRYAGAIN") return { kind };
  if (kind === "REDIRECT") {
    const endpoint = parseEndpoint(words[0], asked);
    return endpoint === undefined ? undefined : { kind, endpoint };
  }
  if (kind !== "MOVED" && kind !== "ASK") return undefined;
  const [slot = "", address] = words;
  const endpoint = parseEndpoint(address, asked);
  return endpoint === undefined || !/^\d+$/.test(slot) ? undefined : { kind, slot: Number(slot), endpoint };
}

/**
 * Splits `host:port` at the last colon: servers print IPv6 addresses without brackets, proxies may print them with
 * brackets. The host comes without brackets, because sockets take it so.
 */
function parseEndpoint(text: string | undefined, asked: Endpoint): Endpoint | undefined {
  const match = /^(.*):(\d+)$/.exec(text ?? "");
  if (match === null) return undefined;
  const host = (match[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { host: host === "" || host === "?" ? asked.host : host, port: Number(match[2]) };
}

/** The code of an error reply, its first word: `CLUSTERDOWN`. `ERR` if the first word is not a code. */
export function errorPrefix(error: string): string {
  return /^[A-Z][A-Z0-9_]*/.exec(error)?.[0] ?? "ERR";
}
