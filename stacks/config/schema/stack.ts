/** The typed configuration of a stack: every key, its unit, its default and its bounds. */
import { z } from "zod";
import { ENGINES } from "../../../valkey/engines";
import { APPENDFSYNC_VALUES, MAXMEMORY_POLICIES, RESERVED_DIRECTIVES } from "../../../valkey/settings";
import { parseSize } from "../../../lib/units";
import { capacitySchema } from "./capacity";
import type { CapacityConfig } from "./capacity";
import { eksPlatformSchema } from "./eks";
import { studyConfigSchema } from "./study";
import type { ExperimentConfig } from "./study";
import { kubernetesSchema } from "./kubernetes";
import { deploymentPodsSchema } from "./pods";
import { workloadName, workloadSchema } from "./workloads";
import type { WorkloadConfig } from "./workloads";
import type { TestName } from "../../../benchmarks/workloads/named-tests";
import type { FailureConfig } from "./failures";
import { failureName, failureSchema } from "./failures";
import { resolveTests, TEST_ALIASES, TEST_NAMES } from "../../../benchmarks/workloads/named-tests";

const count = (least: number, most = 1_000_000): z.ZodNumber => z.int().min(least).max(most);

/** Bytes, as a number or as valkey.conf writes sizes: `256mb`. */
const size = z.union([z.int().min(0), z.string()]).transform((value, context) => {
  const bytes = typeof value === "number" ? value : parseSize(value);
  if (bytes !== undefined) return bytes;
  context.addIssue({ code: "custom", message: "expected bytes, or a size such as 256mb or 1gb" });
  return z.NEVER;
});

const oneLine = z.string().regex(/^[^\r\n]*$/, "expected one line");

const settingsSchema = z.strictObject({
  /** Most memory for data, per server. @default none */
  maxmemory: size.optional(),
  "maxmemory-policy": z.enum(MAXMEMORY_POLICIES).optional(),
  appendonly: z.boolean().optional(),
  appendfsync: z.enum(APPENDFSYNC_VALUES).optional(),
  /** Snapshot rules, `3600 1 300 100`; empty for none. */
  save: oneLine.optional(),
  /** Threads for network work with the main one; fewer than the cores there are, because they spin. */
  "io-threads": count(1, 256).optional(),
  /** Milliseconds. */
  "cluster-node-timeout": count(100, 600_000).optional(),
  "cluster-require-full-coverage": z.boolean().optional(),
  "cluster-allow-reads-when-down": z.boolean().optional(),
  "repl-backlog-size": size.optional(),
  /** Seconds. */
  "repl-diskless-sync-delay": count(0, 3600).optional(),
  "min-replicas-to-write": count(0, 100).optional(),
  /** Seconds. */
  "min-replicas-max-lag": count(0, 3600).optional(),
  /** Any other directive of valkey.conf (of Dragonfly: any other flag), but those the deployment decides itself. */
  other: z
    .record(
      z
        .string()
        .regex(/^[a-z][a-z0-9_-]*$/, "expected the name of a directive")
        .refine((name) => !RESERVED_DIRECTIVES.includes(name), "the deployment decides this one itself"),
      z.union([oneLine, z.number(), z.boolean()]),
    )
    .optional(),
});

const deploymentKeys = {
  /** What serves. Other engines than Valkey need Kubernetes, and Dragonfly has no cluster mode here. */
  engine: z.enum(ENGINES).default("valkey"),
  settings: settingsSchema.default({}),
  /** More threads than cores on purpose, to show what that costs (S2); refused elsewhere. */
  oversubscribed: z.boolean().default(false),
  /** What its pods have that the platform's others have not. */
  pods: deploymentPodsSchema.optional(),
} as const;

const sentinelSchema = z.strictObject({
  /** How many, in zones in turn; odd. */
  count: z
    .int()
    .min(3)
    .max(9)
    .refine((value) => value % 2 === 1, "expected an odd number: one more than that changes nothing")
    .default(3),
  /** How many must miss the primary for it to have failed. @default a majority */
  quorum: count(1, 9).optional(),
  /** Milliseconds without an answer after which one of them misses a node. */
  "down-after-milliseconds": count(100, 600_000).default(5000),
  /** Milliseconds after which a failover that does not come to its end is tried anew. */
  "failover-timeout": count(1000, 3_600_000).default(10_000),
});
export type SentinelConfig = z.infer<typeof sentinelSchema>;

const replicationSchema = z.strictObject({
  mode: z.literal("replication"),
  /** Besides the one primary. */
  replicas: count(0, 100).default(1),
  /** Sentinels beside the servers, that have a replica take over when the primary fails. @default nobody does */
  sentinel: sentinelSchema.optional(),
  ...deploymentKeys,
});

const clusterSchema = z.strictObject({
  mode: z.literal("cluster"),
  primaries: z.int().min(3, "a cluster needs at least 3 primaries").max(1000),
  replicasPerPrimary: count(0, 10).default(1),
  ...deploymentKeys,
});

export const deploymentSchema = z.discriminatedUnion("mode", [replicationSchema, clusterSchema]);
export type DeploymentConfig = z.infer<typeof deploymentSchema>;

/** A name for a deployment: part of node names, file names and, on Kubernetes, of host names. */
export const deploymentName = z
  .string()
  .regex(/^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/, "expected small letters, digits and hyphens, at most 31, a letter first");

const zoneName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "expected letters, digits, dots, hyphens and underscores");

const hostSchema = z.strictObject({
  /** Processes on this machine. */
  type: z.literal("host"),
  /** Labels given to the servers in turn; one machine has no zones of its own. */
  zones: z.array(zoneName).min(1).default(["zone-a", "zone-b", "zone-c"]),
});
export type HostConfig = z.infer<typeof hostSchema>;

export const platformSchema = z.discriminatedUnion("type", [hostSchema, kubernetesSchema, eksPlatformSchema]);
export type PlatformConfig = z.infer<typeof platformSchema>;

const tests = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(","))])
  .transform((names, context) => {
    const { tests: resolved, unknown } = resolveTests(names);
    for (const name of unknown)
      context.addIssue({
        code: "custom",
        message: `${name} is none of valkey-benchmark's tests: ${[...TEST_NAMES, ...Object.keys(TEST_ALIASES)].join(", ")}`,
      });
    if (names.length === 0) context.addIssue({ code: "custom", message: "expected at least one test" });
    return unknown.length > 0 ? z.NEVER : resolved;
  });

/** How long a measurement lasts where neither a duration nor a number of requests is asked for, seconds. */
export const DEFAULT_DURATION_SECONDS = 10;

export const benchmarkSchema = z
  .strictObject({
    /** Tag of the results. @default the deployment's name */
    workloadName: workloadName.optional(),
    /** valkey-benchmark's test names, a list or comma-separated. @default set, get and incr, where there are no workloads */
    tests: tests.optional(),
    /** Connections in parallel; a multiple of every cluster's primaries. */
    clients: count(1, 100_000).default(48),
    /** Requests in flight per connection. */
    pipeline: count(1, 10_000).default(16),
    /** Bytes per value. */
    dataSize: count(1, 512 * 1024 * 1024).default(256),
    /** Of the load generator; a multiple of every cluster's primaries, or fewer than those. */
    threads: count(1, 500).default(3),
    /** Take the nearest clients and threads that every cluster can share evenly, rather than refuse others. */
    fit: z.boolean().default(false),
    /** Distinct keys; with a cluster the nearest multiple of 16384. */
    keySpace: count(1, 1_000_000_000).default(1_000_000),
    /** Seconds each measurement lasts. @default 10, unless requests are given */
    duration: count(1, 86_400).optional(),
    /** Requests each measurement sends, instead of a duration. */
    requests: count(1, 2_000_000_000).optional(),
    /** Seconds before each measurement counts. */
    warmup: count(0, 3600).default(1),
    /** Rounds; intervals of 95 % take six. */
    repeats: count(1, 1000).default(3),
    /** Requests offered per second, in all. @default as many as can be */
    rate: count(1, 1_000_000_000).optional(),
    /** Directory for the results. @default results/TIME */
    output: z.string().min(1).optional(),
    /** Leave the deployments up afterwards (npm start; Pulumi always does). */
    keep: z.boolean().default(false),
    /** Pulumi measures anew when this changes, or what is measured does. */
    run: count(0).default(1),
  })
  .refine(({ duration, requests }) => duration === undefined || requests === undefined, {
    path: ["requests"],
    message: "either a duration or a number of requests, not both",
  });
export type BenchmarkConfig = Omit<z.infer<typeof benchmarkSchema>, "tests"> & { readonly tests: readonly TestName[] };

/** What is measured where nobody says what. */
export const DEFAULT_TESTS: readonly TestName[] = ["set", "get", "incr"];

export const verificationSchema = z.strictObject({
  /** Pulumi verifies anew when this changes, or what is verified does. */
  run: count(0).default(1),
  /** Seconds that deployments have to come up and to form. */
  timeout: count(1, 86_400).default(600),
});
export type VerificationConfig = z.infer<typeof verificationSchema>;

/** What a stack asks for. */
export interface StackConfig {
  readonly platform: PlatformConfig;
  readonly verification: VerificationConfig;
  /** By name. */
  readonly deployments: Readonly<Record<string, DeploymentConfig>>;
  readonly benchmark: BenchmarkConfig;
  /** Mixed loads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  /** What is broken on purpose, by name: by npm start -- break. */
  readonly failures: Readonly<Record<string, FailureConfig>>;
  /** Whether the stack itself asks for measurements; npm start always measures. */
  readonly measures: boolean;
  /** Searched for after the measurements. */
  readonly capacity?: CapacityConfig | undefined;
  /** What a study of the stack does (npm start -- study); the other commands leave it aside. */
  readonly experiment?: ExperimentConfig | undefined;
}

/** One of the platform `host`. */
export type HostStackConfig = StackConfig & { readonly platform: HostConfig };

/** The sections of a stack file, each parsed for itself so that a fault in one hides none in another. */
export const SECTIONS = {
  platform: platformSchema,
  deployments: z
    .record(deploymentName, deploymentSchema)
    .refine((all) => Object.keys(all).length > 0, "expected at least one deployment"),
  verification: verificationSchema,
  benchmark: benchmarkSchema,
  workloads: z.record(workloadName, workloadSchema),
  capacity: capacitySchema,
  experiment: studyConfigSchema,
  failures: z.record(failureName, failureSchema),
} as const;
