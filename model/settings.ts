/** Directives that matter for topology, durability or speed. Stack files and components take them under `settings`. */
import * as z from "zod";
import { wholeNumber, oneLine, byteSize } from "../lib/schema/fields";

/**
 * Pattern for names of directives. It also matches directives of modules (`search.reader-threads`) and Dragonfly's
 * flags.
 */
export const DIRECTIVE_NAME = /^[a-z][a-z0-9._-]*$/;

export const APPENDFSYNC_VALUES = ["always", "everysec", "no"] as const;

export const SETTINGS_FIELDS = {
  /**
   * Limit of the memory for data per server, bytes; 0 means no limit.
   * @default the part of the pod's memory limit that is left for data; no limit on the platform `host`
   */
  maxmemory: byteSize.optional(),
  /** Eviction policy when `maxmemory` is reached. @default the server's default */
  "maxmemory-policy": z
    .enum([
      "noeviction",
      "allkeys-lru",
      "allkeys-lfu",
      "allkeys-random",
      "volatile-lru",
      "volatile-lfu",
      "volatile-random",
      "volatile-ttl",
    ])
    .optional(),
  /** Whether the server writes an append-only file. @default the server's default */
  appendonly: z.boolean().optional(),
  /** When the append-only file is synced to disk. @default the server's default */
  appendfsync: z.enum(APPENDFSYNC_VALUES).optional(),
  /**
   * Rule for snapshots as in valkey.conf, such as `3600 1 300 100`. An empty string means no snapshots.
   * @default the server's default
   */
  save: oneLine.optional(),
  /**
   * Number of I/O threads, including the main thread. Idle threads spin, so there must be fewer threads than cores.
   * @default the server's default
   */
  "io-threads": wholeNumber(1, 256).optional(),
  /**
   * Milliseconds without a reply after which nodes suspect a node to have failed.
   * @default 5000, longer for large clusters
   */
  "cluster-node-timeout": wholeNumber(100, 600_000).optional(),
  /** Whether a cluster with an unserved slot refuses all requests. @default the server's default */
  "cluster-require-full-coverage": z.boolean().optional(),
  /** Whether nodes answer reads while the cluster is down. @default the server's default */
  "cluster-allow-reads-when-down": z.boolean().optional(),
  /** Size of the replication backlog, bytes. @default the server's default */
  "repl-backlog-size": byteSize.optional(),
  /**
   * Seconds that a primary waits for more replicas before it starts a diskless synchronization.
   * @default the server's default
   */
  "repl-diskless-sync-delay": wholeNumber(0, 3600).optional(),
  /**
   * Number of connected replicas that a primary needs to accept writes.
   * @default on Kubernetes, 1 if a primary has two replicas or more; otherwise the server's default
   */
  "min-replicas-to-write": wholeNumber(0, 100).optional(),
  /**
   * Highest lag of a replica that counts for `min-replicas-to-write`, seconds.
   * @default on Kubernetes, 2 if a primary has two replicas or more; otherwise the server's default
   */
  "min-replicas-max-lag": wholeNumber(0, 3600).optional(),
};
