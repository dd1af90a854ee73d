import type { Endpoint } from "../../../../valkey/node";
export type Redirect =
  /** The slot is another server's, for good or for this once. */
  | { readonly kind: "MOVED" | "ASK"; readonly slot: number; readonly endpoint: Endpoint }
  /** Keys of it are on their way. */
  | { readonly kind: "TRYAGAIN" };

const REDIRECT = /^(MOVED|ASK) (\d+) (.*):(\d+)$/;

/** @param from who says so: an empty host means the same one */
export function parseRedirect(error: string, from: Endpoint): Redirect | undefined {
  if (error.startsWith("TRYAGAIN")) return { kind: "TRYAGAIN" };
  const match = REDIRECT.exec(error);
  if (match === null) return undefined;
  const host = match[3] === "" ? from.host : (match[3] ?? from.host).replace(/^\[(.*)\]$/, "$1");
  return {
    kind: match[1] === "ASK" ? "ASK" : "MOVED",
    slot: Number(match[2]),
    endpoint: { host, port: Number(match[4]) },
  };
}

/** `CLUSTERDOWN`: the first word of an error, by which its kind is counted. */
export function errorPrefix(error: string): string {
  return /^[A-Z][A-Z0-9_]*/.exec(error)?.[0] ?? "ERR";
}
