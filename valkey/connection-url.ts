/** The URL with which clients connect. Pure. */

interface UrlParts {
  /** `HOST:PORT`; IPv6 addresses are in brackets. */
  readonly endpoint: string;
  /** Name of the user. @default "default" */
  readonly username?: string | undefined;
  readonly password: string;
  readonly tls: boolean;
}

/**
 * URL for clients: `redis://USER:PASSWORD@HOST:PORT`, or with TLS `rediss://USER:PASSWORD@HOST:PORT`. All clients know
 * these schemes. valkey-cli and ioredis accept the URL unchanged. A cluster client of ioredis also needs the password
 * as an option, because it discovers further nodes.
 */
export function connectionUrl({ endpoint, username = "default", password, tls }: UrlParts): string {
  const [user, secret] = [username, password].map(encodeURIComponent);
  return `${tls ? "rediss" : "redis"}://${user}:${secret}@${endpoint}`;
}
