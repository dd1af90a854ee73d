/** The URL with which clients connect. Pure. */

export interface UrlParts {
  /** `HOST:PORT`; IPv6 addresses are in brackets. */
  readonly endpoint: string;
  /** @default "default" */
  readonly username?: string | undefined;
  readonly password: string;
  readonly tls: boolean;
}

/**
 * `redis://USER:PASSWORD@HOST:PORT`, or `rediss://` with TLS. All clients know these schemes. valkey-cli and ioredis
 * accept the URL unchanged. A cluster client of ioredis also needs the password as an option, for the nodes that it
 * discovers.
 */
export function connectionUrl({ endpoint, username = "default", password, tls }: UrlParts): string {
  const [user, secret] = [username, password].map(encodeURIComponent);
  return `${tls ? "rediss" : "redis"}://${user}:${secret}@${endpoint}`;
}
