/**
 * The meaning of error replies for a client: a redirect to a different node, or a failure. Pure. This file must not
 * import a client library, because the open-loop generator bundles this file.
 */
import type { Endpoint } from "./node";

/**
 * An error reply that tells a client where or when to send the command again (https://valkey.io/topics/cluster-spec,
 * "MOVED Redirection", "ASK redirection").
 */
type Redirect =
  /**
   * A different node serves the slot. After `MOVED`, the client sends all further commands for the slot to that node.
   * After `ASK`, the client sends only the present command to that node, and sends ASKING before this command.
   */
  | { readonly kind: "MOVED" | "ASK"; readonly slot: number; readonly endpoint: Endpoint }
  /**
   * In replication mode, the server is no longer the primary. The reply names the new primary. Only clients that sent
   * CLIENT CAPA REDIRECT get this reply (Valkey 8.0).
   */
  | { readonly kind: "REDIRECT"; readonly endpoint: Endpoint }
  /**
   * Some keys of the slot have already been migrated, and some have not. The client should repeat the command a little
   * later.
   */
  | { readonly kind: "TRYAGAIN" };

/**
 * Reads a redirect from the text of an error reply.
 * @param asked the node that replied. A redirect without a host (`MOVED 5 :7001`, `MOVED 5 ?:7001`) leads to the host
 * of this node
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
 * Splits `host:port` at the last colon. Servers print IPv6 addresses without brackets, and some proxies print them with
 * brackets. The result has no brackets, because sockets take hosts without brackets.
 */
function parseEndpoint(text: string | undefined, asked: Endpoint): Endpoint | undefined {
  const match = /^(.*):(\d+)$/.exec(text ?? "");
  if (match === null) return undefined;
  const host = (match[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { host: host === "" || host === "?" ? asked.host : host, port: Number(match[2]) };
}

/**
 * The code of an error reply, such as `CLUSTERDOWN`: the first word of the reply. `ERR` if the first word is not a
 * code.
 */
export function errorPrefix(error: string): string {
  return /^[A-Z][A-Z0-9_]*/.exec(error)?.[0] ?? "ERR";
}
