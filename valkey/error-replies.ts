/** Meaning of error replies for a client. No client library: the open-loop generator bundles this. */
import type { Endpoint } from "./node";

/** Error reply with a redirect: https://valkey.io/topics/cluster-spec, "MOVED Redirection", "ASK redirection". */
type Redirect =
  /** After `MOVED`, all further commands for the slot go to that node; after `ASK`, only this one, after ASKING. */
  | { readonly kind: "MOVED" | "ASK"; readonly slot: number; readonly endpoint: Endpoint }
  /** No longer the primary. Only clients that sent CLIENT CAPA REDIRECT get this reply (Valkey 8.0). */
  | { readonly kind: "REDIRECT"; readonly endpoint: Endpoint }
  /** Only some keys of the slot have been migrated: repeat the command a little later. */
  | { readonly kind: "TRYAGAIN" };

/** @param asked the node that replied, whose host a redirect without one (`MOVED 5 :7001`, `MOVED 5 ?:7001`) means */
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

/** Splits at the last colon: servers print IPv6 addresses without brackets, and sockets take them so. */
function parseEndpoint(text: string | undefined, asked: Endpoint): Endpoint | undefined {
  const match = /^(.*):(\d+)$/.exec(text ?? "");
  if (match === null) return undefined;
  const host = (match[1] ?? "").replace(/^\[(.*)\]$/, "$1");
  return { host: host === "" || host === "?" ? asked.host : host, port: Number(match[2]) };
}

/** Such as `CLUSTERDOWN`; `ERR` if the first word is not a code. */
export function errorPrefix(error: string): string {
  return /^[A-Z][A-Z0-9_]*/.exec(error)?.[0] ?? "ERR";
}
