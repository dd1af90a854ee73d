interface UrlParts {
  readonly endpoint: string;
  /** @default "default" */
  readonly username?: string | undefined;
  readonly password: string;
  readonly tls: boolean;
}

/** valkey-cli and ioredis accept the URL. A cluster client of ioredis also needs the password as an option. */
export function connectionUrl({ endpoint, username = "default", password, tls }: UrlParts): string {
  const [user, secret] = [username, password].map(encodeURIComponent);
  return `${tls ? "rediss" : "redis"}://${user}:${secret}@${endpoint}`;
}
