/** Stack files and the arguments of components use the same schema. */
import { z } from "zod";
import { DIRECTIVE_NAME } from "../../model/deployment";
import { wholeNumber, oneLine, byteSize } from "../../lib/schema/fields";
import { APPENDFSYNC_VALUES, MAXMEMORY_POLICIES } from "./settings";

/**
 * Settings of a server. Directives that matter for topology, durability or speed have their own types. All other
 * directives are allowed as well.
 */
export const settingsSchema = z
  .object({
    maxmemory: byteSize.optional().meta({
      description: "Highest amount of memory for data, per server.",
      unit: "bytes",
      fallback: "the part of the pod's memory limit that is left for data; no limit on the platform `host`",
    }),
    "maxmemory-policy": z.enum(MAXMEMORY_POLICIES).optional().meta({
      description: "Eviction policy when `maxmemory` is reached.",
      fallback: "the server's default",
    }),
    appendonly: z.boolean().optional().meta({
      description: "Whether the server writes an append-only file.",
      fallback: "the server's default",
    }),
    appendfsync: z.enum(APPENDFSYNC_VALUES).optional().meta({
      description: "When the append-only file is synced to disk.",
      fallback: "the server's default",
    }),
    save: oneLine.optional().meta({
      description: "Snapshot rules such as `3600 1 300 100`; empty for no snapshots.",
      fallback: "the server's default",
    }),
    "io-threads": wholeNumber(1, 256).optional().meta({
      description:
        "Number of I/O threads, including the main thread. Idle threads spin, so there must be fewer threads than cores.",
      fallback: "the server's default",
    }),
    "cluster-node-timeout": wholeNumber(100, 600_000).optional().meta({
      description: "Time without a reply after which nodes suspect a node to have failed.",
      unit: "milliseconds",
      fallback: "5000, longer for large clusters",
    }),
    "cluster-require-full-coverage": z.boolean().optional().meta({
      description: "Whether a cluster with an unserved slot refuses all requests.",
      fallback: "the server's default",
    }),
    "cluster-allow-reads-when-down": z.boolean().optional().meta({
      description: "Whether nodes answer reads while the cluster is down.",
      fallback: "the server's default",
    }),
    "repl-backlog-size": byteSize.optional().meta({
      description: "Size of the replication backlog.",
      unit: "bytes",
      fallback: "the server's default",
    }),
    "repl-diskless-sync-delay": wholeNumber(0, 3600).optional().meta({
      description: "Time to wait for further replicas before a diskless synchronization.",
      unit: "seconds",
      fallback: "the server's default",
    }),
    "min-replicas-to-write": wholeNumber(0, 100).optional().meta({
      description: "Number of connected replicas that a primary needs to accept writes.",
      fallback: "the server's default",
    }),
    "min-replicas-max-lag": wholeNumber(0, 3600).optional().meta({
      description: "Replication lag up to which a replica counts for `min-replicas-to-write`.",
      unit: "seconds",
      fallback: "the server's default",
    }),
  })
  .catchall(
    z.union([oneLine, z.number(), z.boolean()]).optional().meta({
      description:
        "Any other directive of valkey.conf, with its name and value as in valkey.conf (for Dragonfly: a flag).",
      fallback: "the server's default",
    }),
  )
  .superRefine((settings, context) => {
    for (const name of Object.keys(settings)) {
      if (DIRECTIVE_NAME.test(name)) continue;
      context.addIssue({ code: "custom", path: [name], message: "expected the name of a directive" });
    }
  });
