/** One measurement of results.json, with its warnings. Names contain units; unknown values are null, never 0. */
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

/** A reason not to take a figure at its word, in one sentence with the figures it is drawn from. */
export const warningSchema = z.strictObject({ code: z.enum(WARNING_CODES), text: z.string() });
export type Warning = z.infer<typeof warningSchema>;

const cumulativeSchema = z.array(z.strictObject({ ms: countSchema, count: countSchema }));

/** One load generator of several. */
const runnerSchema = z.strictObject({
  name: z.string(),
  machine: z.string(),
  seed: z.int(),
  requests: countSchema,
  rps: countSchema,
  seconds: countSchema,
  p99Ms: countSchema,
  /** Cores. */
  cpu: countSchema.nullable(),
});

/** Requests of a mixed workload, its distributions in words. */
export const requestMixSchema = z.strictObject({
  data: z.enum(DATA_KINDS),
  reads: z.number(),
  readFrom: z.enum(READ_FROM),
  keys: z.string(),
  values: z.string(),
});

/** By kind: `timeout`, `CLUSTERDOWN`. */
const kinds = z.record(z.string(), countSchema);

const offeringSchema = z.strictObject({
  /** Requests whose intended time came, those of them that were sent, and those answered without an error. */
  offered: countSchema,
  sent: countSchema,
  acknowledged: countSchema,
  /** Answered with an error, or never sent: certainly not done. */
  failed: kinds,
  /** Requests that were sent and never answered: done or not. */
  unknown: kinds,
  /** Followed. */
  redirects: kinds,
  reconnects: countSchema,
  /** Most at a time that were offered and not yet settled. */
  mostInFlight: countSchema,
  /** Delay with which the generator noticed intended times, milliseconds: part of the latencies. */
  lagP50Ms: countSchema,
  lagP99Ms: countSchema,
  lagMaxMs: countSchema,
  /** The same, every count. */
  lag: z.string(),
  /** Parts of its workers' time in which the generator had something to do, added up: cores. */
  busy: countSchema,
});
export type OpenLoopCounts = z.infer<typeof offeringSchema>;

/** One test on one deployment in one round. */
export const measurementSchema = z.strictObject({
  id: z.string(),
  round: z.int().min(1),
  deployment: z.string(),
  mode: modeSchema,
  /** Tag of the results. */
  workload: z.string(),
  test: z.string(),
  title: z.string(),
  /** The program that sent the load. */
  loadGenerator: z.enum(LOAD_GENERATORS).default("valkey-benchmark"),
  /** Null for a named test, and in older results. */
  requestMix: requestMixSchema.nullable().default(null),
  startedAt: z.iso.datetime(),
  /** Arguments of the load generator; secrets are replaced. */
  command: z.array(z.string()),
  seed: z.int(),
  clients: countSchema,
  pipeline: countSchema,
  /** Bytes. */
  dataSize: countSchema,
  threads: countSchema,
  keySpace: countSchema,
  /** Requests offered per second; null is as many as can be. */
  rate: countSchema.nullable(),
  warmupSeconds: countSchema,
  /** Figures by the load generator's clock; latencies are of a whole pipeline. */
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
   * Every count of the latencies, where the load generator gives them: an HDR histogram of microseconds, version 2,
   * deflated, base64.
   */
  histogram: z.string().nullable().default(null),
  /** Requests that an open loop offered, and their outcomes; null for a closed one. */
  offering: offeringSchema.nullable().default(null),
  /** Figures by the primaries' own counters; null if they could not be read. */
  servers: z
    .strictObject({
      rps: countSchema,
      calls: countSchema,
      /** (client − servers) / servers. */
      disagreement: z.number(),
      hits: countSchema,
      misses: countSchema,
      /** Null for tests that look nothing up. */
      hitRatio: z.number().min(0).max(1).nullable(),
      evictions: countSchema,
      rejectedCalls: countSchema,
      shares: z.array(
        z.strictObject({ node: z.string(), calls: countSchema, share: z.number(), expectedShare: z.number() }),
      ),
    })
    .nullable(),
  /** Cores: seconds of CPU per second. */
  cpu: z.strictObject({
    client: countSchema.nullable(),
    clientLimit: countSchema,
    servers: z.array(
      z.strictObject({ node: z.string(), role: roleSchema, cores: countSchema, mainThread: countSchema.nullable() }),
    ),
    /** This program's own, where it runs on a load generator's machine. */
    program: countSchema,
    serversHere: z.boolean(),
    /** Cores in use on all machines that load generators run on. */
    machineBusy: countSchema.nullable(),
    machineStolen: countSchema.nullable(),
    machineCores: countSchema,
  }),
  /**
   * The load generators, where there are several or they run on other machines than this program: clients and threads
   * are each one's.
   */
  runners: z.array(runnerSchema).default([]),
  warnings: z.array(warningSchema),
});
export type MeasurementRecord = z.infer<typeof measurementSchema>;
