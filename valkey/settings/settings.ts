/** Directives that matter for topology, durability or speed have their own types. */

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

/**
 * Settings of a server. Each field has the name of a directive. Omitted directives have Valkey's default. Sizes are in
 * bytes. All other values are written as in valkey.conf.
 */
export interface ServerSettings {
  /** Limit of the memory for data, bytes; 0 means no limit. */
  readonly maxmemory?: number | undefined;
  readonly "maxmemory-policy"?: (typeof MAXMEMORY_POLICIES)[number] | undefined;
  readonly appendonly?: boolean | undefined;
  readonly appendfsync?: (typeof APPENDFSYNC_VALUES)[number] | undefined;
  /** Rule for snapshots as in valkey.conf, such as `3600 1 300 100`. An empty string means no snapshots. */
  readonly save?: string | undefined;
  /** Threads for network I/O, including the main thread. */
  readonly "io-threads"?: number | undefined;
  /** Node timeout, milliseconds. */
  readonly "cluster-node-timeout"?: number | undefined;
  readonly "cluster-require-full-coverage"?: boolean | undefined;
  readonly "cluster-allow-reads-when-down"?: boolean | undefined;
  /** Size of the replication backlog, bytes. */
  readonly "repl-backlog-size"?: number | undefined;
  /** Seconds that a primary waits for more replicas before it starts a diskless synchronization. */
  readonly "repl-diskless-sync-delay"?: number | undefined;
  readonly "min-replicas-to-write"?: number | undefined;
  /** Highest lag of a replica that counts for `min-replicas-to-write`, seconds. */
  readonly "min-replicas-max-lag"?: number | undefined;
  /** Any directive without a field in this interface. */
  readonly [directive: string]: string | number | boolean | undefined;
}

/** CONFIG GET omits directives that the version of the server lacks. */
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

/** Whether servers with these settings write data to their disk: an append-only file or snapshots. */
export function writesToDisk({ appendonly, save }: Pick<ServerSettings, "appendonly" | "save">): boolean {
  return appendonly === true || save !== "";
}

/** Directives with their values as CONFIG GET prints them: sizes in bytes, booleans as yes and no. */
export function toDirectives(settings: ServerSettings): Map<string, string> {
  return new Map(
    Object.entries(settings).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, formatValue(value)]],
    ),
  );
}

function formatValue(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/** A value with several words becomes several arguments, and an empty value becomes `""`. */
export function formatConfigFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name} ${value === "" ? '""' : value}\n`).join("");
}
