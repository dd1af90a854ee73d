/** One measurement in results.json, with its warnings. Names contain units. Unknown values are null, never 0. */
import { z } from "zod";
import { modeSchema, roleSchema } from "../../valkey/verification/topology-record";
import { DATA_KINDS, LOAD_GENERATORS, READ_FROM } from "../workloads/mixed-workload";

export const countSchema = z.number().min(0);

export const WARNING_CODES = [
  "servers-unknown",
  "clocks-disagree",
  "too-short",
  "rate-missed",
  "generator-late",
  "unanswered",
  "latency-limit",
  "ran-empty",
  "hit-ratio",
  "evictions",
  "errors",
  "client-bound",
  "machine-bound",
  "few-connections",
  "neighbour",
  "uneven-shares",
  "shared-machine",
  "machine-untuned",
  "runners-apart",
  "reference-load-moved",
] as const;

/** A reason not to trust a result, as a sentence. The sentence contains the values that led to the warning. */
export const warningSchema = z.strictObject({ code: z.enum(WARNING_CODES), text: z.string() });
export type Warning = z.infer<typeof warningSchema>;

const cumulativeSchema = z.array(z.strictObject({ ms: countSchema, count: countSchema }));

/** Results of one load generator, if a measurement has several load generators. */
const runnerSchema = z.strictObject({
  name: z.string(),
  machine: z.string(),
  seed: z.int(),
  requests: countSchema,
  rps: countSchema,
  seconds: countSchema,
  p99Ms: countSchema,
  /** Number of cores that this load generator used; null if unknown. */
  cpu: countSchema.nullable(),
});

/** The kinds of requests that a mixed workload sends. The distributions of keys and values are described by texts. */
export const requestMixSchema = z.strictObject({
  data: z.enum(DATA_KINDS),
  reads: z.number(),
  readFrom: z.enum(READ_FROM),
  keys: z.string(),
  values: z.string(),
});

/** Numbers of requests, by error or other reason, such as `timeout` or `CLUSTERDOWN`. */
const kinds = z.record(z.string(), countSchema);

const offeringSchema = z.strictObject({
  /**
   * Number of requests whose intended time has passed. `sent` is the number of these requests that were sent.
   * `acknowledged` is the number of these requests that were answered without an error.
   */
  offered: countSchema,
  sent: countSchema,
  acknowledged: countSchema,
  /**
   * Numbers of requests that were answered with an error or never sent, by error. The servers certainly did not execute
   * these requests.
   */
  failed: kinds,
  /**
   * Numbers of requests that were sent but never answered, by reason. It is unknown whether the servers executed these
   * requests.
   */
  unknown: kinds,
  /** Numbers of redirects that were followed, by kind. */
  redirects: kinds,
  reconnects: countSchema,
  /** Highest number of offered requests whose outcome was unknown at the same moment. */
  mostInFlight: countSchema,
  /**
   * Delay between the intended time of a request and the time at which the load generator noticed it, milliseconds.
   * Latencies include this delay.
   */
  lagP50Ms: countSchema,
  lagP99Ms: countSchema,
  lagMaxMs: countSchema,
  /**
   * Distribution of the delay between the intended times of requests and the times at which the load generator noticed
   * them. The text is an encoded histogram.
   */
  lag: z.string(),
  /** Number of cores that the load generator used: the sum of the busy fractions of all its workers. */
  busy: countSchema,
});
export type OpenLoopCounts = z.infer<typeof offeringSchema>;

/** Result of one measurement: one test on one deployment in one round. */
export const measurementSchema = z.strictObject({
  id: z.string(),
  round: z.int().min(1),
  deployment: z.string(),
  mode: modeSchema,
  /** Name of the workload. The results carry this name as a tag. */
  workload: z.string(),
  test: z.string(),
  title: z.string(),
  /** The program that sent the load. */
  loadGenerator: z.enum(LOAD_GENERATORS).default("valkey-benchmark"),
  /** The requests of a mixed workload. Null for a named test, and in older results. */
  requestMix: requestMixSchema.nullable().default(null),
  startedAt: z.iso.datetime(),
  /** Arguments of the load generator, with secrets replaced. */
  command: z.array(z.string()),
  seed: z.int(),
  clients: countSchema,
  pipeline: countSchema,
  /** Size of a value, bytes. */
  dataSize: countSchema,
  threads: countSchema,
  keySpace: countSchema,
  /** Offered requests per second. Null if the load was sent at full speed. */
  rate: countSchema.nullable(),
  /**
   * Time after which the open-loop generator gives a request up, milliseconds. Null for other load generators, and in
   * older results.
   */
  timeoutMs: countSchema.nullable().default(null),
  warmupSeconds: countSchema,
  /**
   * Values that the load generator measured by its own clock. With a pipeline, a latency is the time of a whole batch.
   */
  client: z.strictObject({
    requests: countSchema,
    rps: countSchema,
    seconds: countSchema,
    avgMs: countSchema,
    minMs: countSchema,
    p50Ms: countSchema,
    p95Ms: countSchema,
    p99Ms: countSchema,
    maxMs: countSchema,
    percentiles: cumulativeSchema,
    cumulative: cumulativeSchema,
  }),
  /**
   * Distribution of all latencies. Null if the load generator does not report it. The text is an HDR histogram of
   * microseconds, version 2, deflated and encoded in base64.
   */
  histogram: z.string().nullable().default(null),
  /** Requests that an open loop offered, with their outcomes. Null for a closed loop. */
  offering: offeringSchema.nullable().default(null),
  /** Values from the primaries' own counters. Null if the counters could not be read. */
  servers: z
    .strictObject({
      rps: countSchema,
      calls: countSchema,
      /**
       * Relative difference between the rate of the client and the rate of the servers: (client − servers) / servers.
       */
      disagreement: z.number(),
      hits: countSchema,
      misses: countSchema,
      /** Fraction of lookups that found their key. Null for tests without lookups. */
      hitRatio: z.number().min(0).max(1).nullable(),
      evictions: countSchema,
      rejectedCalls: countSchema,
      /**
       * Share of each shard in the calls, with the name of its primary. Replicas that serve reads count for their shard.
       */
      shares: z.array(
        z.strictObject({ node: z.string(), calls: countSchema, share: z.number(), expectedShare: z.number() }),
      ),
    })
    .nullable(),
  /** Number of cores that load generators and servers used, as CPU seconds per second. */
  cpu: z.strictObject({
    client: countSchema.nullable(),
    clientLimit: countSchema,
    servers: z.array(
      z.strictObject({ node: z.string(), role: roleSchema, cores: countSchema, mainThread: countSchema.nullable() }),
    ),
    /**
     * Cores that this program itself used on a machine of the load generators. The value is 0 if this program runs on a
     * different machine.
     */
    program: countSchema,
    serversHere: z.boolean(),
    /** Number of cores in use on all machines of the load generators together. */
    machineBusy: countSchema.nullable(),
    machineStolen: countSchema.nullable(),
    machineCores: countSchema,
  }),
  /**
   * Results of each load generator. The list is empty for a single load generator on the machine of this program. Each
   * load generator has the number of clients and threads that the record names.
   */
  runners: z.array(runnerSchema).default([]),
  warnings: z.array(warningSchema),
});
export type MeasurementRecord = z.infer<typeof measurementSchema>;
