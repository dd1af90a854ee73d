/** Settings of a server: typed where they matter to topology, durability or speed, a free map for the rest. Pure. */

/** Values of `maxmemory-policy`. */
export const MAXMEMORY_POLICIES = [
  "noeviction",
  "allkeys-lru",
  "allkeys-lfu",
  "allkeys-random",
  "volatile-lru",
  "volatile-lfu",
  "volatile-random",
  "volatile-ttl",
] as const;

/** Values of `appendfsync`. */
export const APPENDFSYNC_VALUES = ["always", "everysec", "no"] as const;

/** Settings by the names of Valkey's directives. Those left out have Valkey's default. */
export interface ServerSettings {
  /** Bytes; 0 means no limit. */
  readonly maxmemory?: number | undefined;
  readonly "maxmemory-policy"?: (typeof MAXMEMORY_POLICIES)[number] | undefined;
  readonly appendonly?: boolean | undefined;
  readonly appendfsync?: (typeof APPENDFSYNC_VALUES)[number] | undefined;
  /** Snapshot rule as in valkey.conf, `3600 1 300 100`; empty for no snapshots. */
  readonly save?: string | undefined;
  /** Threads for network I/O, including the main thread. */
  readonly "io-threads"?: number | undefined;
  /** Milliseconds. */
  readonly "cluster-node-timeout"?: number | undefined;
  readonly "cluster-require-full-coverage"?: boolean | undefined;
  readonly "cluster-allow-reads-when-down"?: boolean | undefined;
  /** Bytes. */
  readonly "repl-backlog-size"?: number | undefined;
  /** Seconds that a primary waits for more replicas before it starts a diskless synchronization. */
  readonly "repl-diskless-sync-delay"?: number | undefined;
  readonly "min-replicas-to-write"?: number | undefined;
  /** Seconds. */
  readonly "min-replicas-max-lag"?: number | undefined;
  /** Any other directive, as written in valkey.conf. */
  readonly other?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** Directives that the deployment sets itself. The configuration must not set them. */
export const RESERVED_DIRECTIVES: readonly string[] = [
  "port",
  "tls-port",
  "bind",
  "unixsocket",
  "protected-mode",
  "requirepass",
  "primaryauth",
  "masterauth",
  "primaryuser",
  "masteruser",
  "user",
  "aclfile",
  "replicaof",
  "slaveof",
  "cluster-enabled",
  "cluster-config-file",
  "cluster-port",
  "cluster-announce-ip",
  "cluster-announce-port",
  "cluster-announce-bus-port",
  "cluster-announce-client-ipv4",
  "cluster-announce-client-ipv6",
  "cluster-announce-client-port",
  "cluster-announce-client-tls-port",
  "dir",
  "logfile",
  "pidfile",
  "daemonize",
  "supervised",
  "include",
  "loadmodule",
  "availability-zone",
];

/**
 * Directives that verification compares between the nodes. CONFIG GET leaves out those that a server's version lacks.
 */
export const COMPARED_DIRECTIVES: readonly string[] = [
  "maxmemory",
  "maxmemory-policy",
  "appendonly",
  "appendfsync",
  "save",
  "io-threads",
  "cluster-node-timeout",
  "cluster-require-full-coverage",
  "cluster-allow-reads-when-down",
  "cluster-replica-no-failover",
  "repl-backlog-size",
  "repl-diskless-sync",
  "repl-diskless-sync-delay",
  "min-replicas-to-write",
  "min-replicas-max-lag",
  "replica-read-only",
  "lazyfree-lazy-user-del",
  "activedefrag",
  "hz",
  "databases",
];

/** Directives with their values as CONFIG GET prints them: sizes in bytes, booleans as yes and no. */
export function toDirectives(settings: ServerSettings): Map<string, string> {
  const { other, ...typed } = settings;
  const entries = Object.entries<string | number | boolean | undefined>({ ...typed, ...other });
  return new Map(
    entries.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, formatValue(value)]])),
  );
}

function formatValue(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/** The text of a valkey.conf. A value of several words is written as several arguments, an empty value as `""`. */
export function formatConfigFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name} ${value === "" ? '""' : value}\n`).join("");
}
