/** The section `deployments`: what is deployed, by name. */
import { z } from "zod";
import { rulesProblem, userNameProblem } from "../../../valkey/access/users";
import { ENGINES } from "../../../valkey/engines";
import { APPENDFSYNC_VALUES, MAXMEMORY_POLICIES, RESERVED_DIRECTIVES } from "../../../valkey/settings";
import { count, oneLine, size } from "../../../lib/schema/fields";
import { deploymentPodsSchema, externalSchema } from "./pods";

const directiveName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*$/, "expected the name of a directive")
  .refine((name) => !RESERVED_DIRECTIVES.includes(name), "the deployment decides this directive itself");

const settingsSchema = z.strictObject({
  maxmemory: size.optional().meta({
    description: "Most memory for data, per server.",
    unit: "bytes",
    fallback: "no limit",
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
  "io-threads": count(1, 256).optional().meta({
    description: "I/O threads including the main thread. They spin, so there must be fewer than cores.",
    fallback: "the server's default",
  }),
  "cluster-node-timeout": count(100, 600_000).optional().meta({
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
  "repl-backlog-size": size.optional().meta({
    description: "Size of the replication backlog.",
    unit: "bytes",
    fallback: "the server's default",
  }),
  "repl-diskless-sync-delay": count(0, 3600).optional().meta({
    description: "Wait for further replicas before a diskless synchronization.",
    unit: "seconds",
    fallback: "the server's default",
  }),
  "min-replicas-to-write": count(0, 100).optional().meta({
    description: "Replicas that a primary needs to accept writes.",
    fallback: "the server's default",
  }),
  "min-replicas-max-lag": count(0, 3600).optional().meta({
    description: "Replication lag up to which a replica counts for `min-replicas-to-write`.",
    unit: "seconds",
    fallback: "the server's default",
  }),
  other: z
    .record(directiveName, z.union([oneLine, z.number(), z.boolean()]))
    .optional()
    .meta({
      description:
        "Other directives of valkey.conf by name (flags for Dragonfly), except those that the deployment decides itself.",
      fallback: "none",
    }),
});

const refinement = (problem: (text: string) => string | undefined) =>
  [
    (text: string) => problem(text) === undefined,
    { error: ({ input }: { readonly input: unknown }) => problem(String(input)) ?? "" },
  ] as const;

const userRules = z
  .string()
  .refine(...refinement(rulesProblem))
  .meta({ description: "Rules of ACL SETUSER: commands, keys and channels, such as `+@read ~app:*`." });

const deploymentKeys = {
  engine: z.enum(ENGINES).default("valkey").meta({
    description: "Server program. Redis and Dragonfly need Kubernetes; Dragonfly has no cluster mode here.",
  }),
  settings: settingsSchema.prefault({}).meta({ description: "Directives of valkey.conf." }),
  passwordVersion: count(0).default(0).meta({
    description: "Change this number to have the next `pulumi up` generate another password.",
  }),
  passwordOverlapSeconds: count(90, 3600).default(120).meta({
    description: "How long the former password stays valid (platforms `kubernetes` and `eks`).",
    unit: "seconds",
  }),
  users: z
    .record(z.string().refine(...refinement(userNameProblem)), z.strictObject({ rules: userRules }))
    .optional()
    .meta({
      description:
        "Users beside `default`, by name (platforms `kubernetes` and `eks`, Valkey). Passwords are generated.",
      fallback: "none",
    }),
  external: externalSchema.optional().meta({
    description:
      "Services for clients outside the Kubernetes cluster (platforms `kubernetes` and `eks`, Valkey): for the primary and " +
      "for reads; of a cluster for each node, which then gives its address to all clients.",
    fallback: "none",
  }),
  oversubscribed: z.boolean().default(false).meta({
    description: "Whether `io-threads` may exceed the cores, to show what that costs.",
  }),
  pods: deploymentPodsSchema.optional().meta({
    description: "Differences of the pods from the platform's (platforms `kubernetes` and `eks`).",
    fallback: "the platform's",
  }),
} as const;

const sentinelSchema = z.strictObject({
  count: z
    .int()
    .min(3)
    .max(9)
    .refine((value) => value % 2 === 1, "expected an odd number: an even number tolerates no more failures")
    .default(3)
    .meta({ description: "Number of Sentinels, odd, spread over the zones." }),
  quorum: count(1, 9).optional().meta({
    description: "Sentinels that must miss the primary for a failover.",
    fallback: "a majority",
  }),
  "down-after-milliseconds": count(100, 600_000).default(5000).meta({
    description: "Time without a reply after which a Sentinel misses a node.",
    unit: "milliseconds",
  }),
  "failover-timeout": count(1000, 3_600_000).default(10_000).meta({
    description: "Time after which an unfinished failover is tried again.",
    unit: "milliseconds",
  }),
});
/** Sentinels of a deployment, parsed. */
export type SentinelConfig = z.infer<typeof sentinelSchema>;

const mode = <const M extends string>(name: M): z.ZodLiteral<M> =>
  z.literal(name).meta({ description: "Mode of the deployment." });

const replicationSchema = z
  .strictObject({
    mode: mode("replication"),
    replicas: count(0, 100).default(1).meta({ description: "Number of replicas of the one primary." }),
    sentinel: sentinelSchema.optional().meta({
      description: "Sentinels that promote a replica when the primary fails.",
      fallback: "no failover",
    }),
    ...deploymentKeys,
  })
  .meta({ title: "replication", description: "One primary with its replicas." });

const clusterSchema = z
  .strictObject({
    mode: mode("cluster"),
    primaries: z
      .int()
      .min(3, "a cluster needs at least 3 primaries")
      .max(1000)
      .meta({ description: "Number of primaries." }),
    replicasPerPrimary: count(0, 10).default(1).meta({ description: "Number of replicas of each primary." }),
    ...deploymentKeys,
  })
  .meta({ title: "cluster", description: "Shards, each a primary with its replicas." });

/** One deployment of the section `deployments`. */
export const deploymentSchema = z.discriminatedUnion("mode", [replicationSchema, clusterSchema]);
/** One deployment, parsed. */
export type DeploymentConfig = z.infer<typeof deploymentSchema>;

/** The name of a deployment: part of node names, file names and, on Kubernetes, of host names. */
export const deploymentName = z
  .string()
  .regex(
    /^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/,
    "expected lower-case letters, digits and hyphens, at most 31, a letter first",
  );
