/** The section `workloads`: mixed loads by name, each with the load generator that sends it. */
import { z } from "zod";
import { ARRIVALS, DATA_KINDS, READ_FROM } from "../../../benchmarks/workloads/mixed-workload";

const count = (least: number, most: number): z.ZodNumber => z.int().min(least).max(most);
const part = z.number().min(0).max(1);
const bytes = count(1, 512 * 1024 * 1024);

/** What every load generator can send. */
const mixed = {
  /** Strings are read by GET and written by SET, sorted sets by ZRANGE 0 -1 and ZADD (S5's workload at `reads: 0.9`). */
  data: z.enum(DATA_KINDS).default("strings"),
  /** Part of the requests that read. */
  reads: part.default(0.9),
  /** Distinct keys; with a cluster the nearest multiple of 16384. */
  keySpace: count(1, 1_000_000_000).default(1_000_000),
  /** Connections in parallel, in all; a multiple of every cluster's primaries. */
  clients: count(1, 100_000).default(48),
  /** Requests sent together on one connection. */
  pipeline: count(1, 10_000).default(1),
};

const closedLoop = {
  ...mixed,
  /** Bytes per value. */
  dataSize: bytes.default(256),
  /** Of the load generator. */
  threads: count(1, 500).default(1),
  /** Requests offered per second, in all. @default as many as can be */
  rate: count(1, 1_000_000_000).optional(),
};

const keysSchema = z.discriminatedUnion("distribution", [
  z.strictObject({ distribution: z.literal("uniform") }),
  z.strictObject({
    distribution: z.literal("zipfian"),
    /** The key of rank k is drawn with weight k^−theta; YCSB's is 0.99. */
    theta: z.number().gt(0).max(10).default(0.99),
  }),
  z.strictObject({
    distribution: z.literal("hot-set"),
    /** Part of the keys that is hot. */
    keys: z.number().gt(0).max(1).default(0.2),
    /** Part of the requests that goes there. */
    requests: part.default(0.8),
  }),
]);

const valuesSchema = z.discriminatedUnion("sizes", [
  z.strictObject({ sizes: z.literal("fixed"), bytes }),
  z
    .strictObject({ sizes: z.literal("uniform"), min: bytes, max: bytes })
    .refine(({ min, max }) => min <= max, { path: ["max"], message: "expected no less than min" }),
  z
    .strictObject({
      sizes: z.literal("lognormal"),
      median: bytes,
      sigma: z.number().gt(0).max(5),
      max: bytes.default(1024 * 1024),
    })
    .refine(({ median, max }) => median <= max, { path: ["max"], message: "expected no less than median" }),
  z.strictObject({
    sizes: z.literal("weighted"),
    list: z.array(z.strictObject({ bytes, weight: z.number().gt(0) })).min(1),
  }),
]);

const openLoopSchema = z.strictObject({
  /** Sends at intended times, whether replies come or not, and measures latency from then on. */
  loadGenerator: z.literal("open-loop"),
  ...mixed,
  /** Requests offered per second, in all. */
  rate: count(1, 100_000_000),
  /** `poisson` as independent users come; `fixed` is evenly spaced. */
  arrivals: z.enum(ARRIVALS).default("poisson"),
  keys: keysSchema.prefault({ distribution: "uniform" }),
  /** Sizes of values. */
  values: valuesSchema.prefault({ sizes: "fixed", bytes: 256 }),
  /** Who is asked to read. */
  readFrom: z.enum(READ_FROM).default("primary"),
  /** Threads of the generator. */
  workers: count(1, 256).default(1),
  /** Milliseconds after which a request is given up on. */
  timeout: count(1, 600_000).default(5_000),
  /** Requests that may wait for a free connection, in all; more are not sent, and counted. */
  queue: count(0, 10_000_000).default(1_000_000),
});

export const workloadSchema = z.discriminatedUnion("loadGenerator", [
  z.strictObject({
    loadGenerator: z.literal("valkey-benchmark"),
    ...closedLoop,
    /** Who is asked to read; in clusters only, and where nothing writes. */ readFrom: z
      .enum(READ_FROM)
      .default("primary"),
  }),
  openLoopSchema,
  z.strictObject({ loadGenerator: z.literal("memtier"), ...closedLoop }),
]);
export type WorkloadConfig = z.infer<typeof workloadSchema>;

/** The load generator of a workload that names none. */
export const DEFAULT_LOAD_GENERATOR = "valkey-benchmark";

/** A name for a workload: the tag of its results. */
export const workloadName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, "expected letters, digits, dots, hyphens and underscores");
