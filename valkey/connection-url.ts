/** The URL by which clients connect. Pure. */

export interface UrlParts {
  /** `HOST:PORT`; an IPv6 address has brackets. */
  readonly endpoint: string;
  /** @default "default" */
  readonly username?: string | undefined;
  readonly password: string;
  readonly tls: boolean;
}

/**
 * `redis://USER:PASSWORD@HOST:PORT`, with TLS `rediss://`: the schemes that all clients know. valkey-cli and ioredis take
 * it as it is; a cluster client of ioredis also needs the password as an option, for the nodes that it discovers.
 */
export function connectionUrl({ endpoint, username = "default", password, tls }: UrlParts): string {
  const [user, secret] = [username, password].map(encodeURIComponent);
  return `${tls ? "rediss" : "redis"}://${user}:${secret}@${endpoint}`;
}
