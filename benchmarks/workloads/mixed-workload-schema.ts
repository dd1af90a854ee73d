import { z } from "zod";
import { ARRIVALS, DATA_KINDS, READ_FROM } from "./mixed-workload";
import { wholeNumber, fraction } from "../../lib/schema/fields";

export const valueBytes = wholeNumber(1, 512 * 1024 * 1024);

const MAX_RATE = 1_000_000_000;

const mixed = {
  /** Data type. Strings are read by GET and written by SET; sorted sets are read by ZRANGE 0 -1 and written by ZADD. */
  data: z.enum(DATA_KINDS).default("strings"),
  /** Part of the requests that read. */
  reads: fraction.default(0.9),
  /** Number of distinct keys. If a deployment is a cluster, the number is rounded to a multiple of 16384. */
  keySpace: wholeNumber(1, 1_000_000_000).default(1_000_000),
  /** Total number of connections: a multiple of the number of primaries of every cluster. */
  clients: wholeNumber(1, 100_000).default(48),
  /** Requests sent together on one connection. */
  pipeline: wholeNumber(1, 10_000).default(1),
};

const closedLoop = {
  ...mixed,
  /** Value size. @unit bytes */
  dataSize: valueBytes.default(256),
  /** Threads of the load generator. */
  threads: wholeNumber(1, 500).default(1),
  /** Offered rate of all connections together. @unit requests per second @default unlimited */
  rate: wholeNumber(1, MAX_RATE).optional(),
};

const distribution = <const D extends string>(name: D): z.ZodLiteral<D> =>
  z.literal(name).meta({ description: "Distribution of the requests over the keys." });

const keysSchema = z.discriminatedUnion("distribution", [
  z
    .strictObject({ distribution: distribution("uniform") })
    .meta({ title: "uniform", description: "Every key is as likely as any other." }),
  z
    .strictObject({
      distribution: distribution("zipfian"),
      /** Exponent: the key of rank k has weight k^−theta. YCSB uses 0.99. */
      theta: z.number().gt(0).max(10).default(0.99),
    })
    .meta({ title: "zipfian", description: "A few keys get most of the requests." }),
  z
    .strictObject({
      distribution: distribution("hot-set"),
      /** Part of the keys that is hot. */
      keys: z.number().gt(0).max(1).default(0.2),
      /** Part of the requests that goes to hot keys. */
      requests: fraction.default(0.8),
    })
    .meta({ title: "hot-set", description: "A fixed part of the requests goes to the hot keys." }),
]);

const sizes = <const S extends string>(name: S): z.ZodLiteral<S> =>
  z.literal(name).meta({ description: "Distribution of the value sizes." });
const bytes = (description: string): z.ZodNumber => valueBytes.meta({ description, unit: "bytes" });

const weightedSize = z.strictObject({
  bytes: bytes("Value size."),
  /** Relative frequency of this size. */
  weight: z.number().gt(0),
});

const valuesSchema = z.discriminatedUnion("sizes", [
  z
    .strictObject({ sizes: sizes("fixed"), bytes: bytes("Value size.") })
    .meta({ title: "fixed", description: "All values have one size." }),
  z
    .strictObject({ sizes: sizes("uniform"), min: bytes("Smallest value."), max: bytes("Largest value.") })
    .refine(({ min, max }) => min <= max, { path: ["max"], message: "expected at least min" })
    .meta({ title: "uniform", description: "Every size between two bounds is equally likely." }),
  z
    .strictObject({
      sizes: sizes("lognormal"),
      median: bytes("Median size."),
      /** Standard deviation of the logarithm of the size. */
      sigma: z.number().gt(0).max(5),
      /** Largest value. @unit bytes */
      max: valueBytes.default(1024 * 1024),
    })
    .refine(({ median, max }) => median <= max, { path: ["max"], message: "expected at least the median" })
    .meta({ title: "lognormal", description: "Many small values and few large ones." }),
  z
    .strictObject({
      sizes: sizes("weighted"),
      /** Sizes with their weights. */
      list: z.array(weightedSize).min(1),
    })
    .meta({ title: "weighted", description: "Sizes from a list." }),
]);

export const DEFAULT_LOAD_GENERATOR = "valkey-benchmark";

const LOAD_GENERATOR = { description: "Load generator that sends the requests." };
const loadGenerator = <const D extends string>(name: D): z.ZodLiteral<D> => z.literal(name).meta(LOAD_GENERATOR);

const readFrom = (description: string): z.ZodDefault<z.ZodEnum<z.core.util.ToEnum<(typeof READ_FROM)[number]>>> =>
  z.enum(READ_FROM).default("primary").meta({ description });

export const openLoopSchema = z
  .strictObject({
    loadGenerator: loadGenerator("open-loop"),
    ...mixed,
    /** Offered rate of all connections together. @unit requests per second */
    rate: wholeNumber(1, 100_000_000),
    /** Spacing of the requests: `poisson` for random times, as from independent users; `fixed` for equal intervals. */
    arrivals: z.enum(ARRIVALS).default("poisson"),
    /** Distribution of the requests over the keys. */
    keys: keysSchema.prefault({ distribution: "uniform" }),
    /** Distribution of the value sizes. */
    values: valuesSchema.prefault({ sizes: "fixed", bytes: 256 }),
    readFrom: readFrom("Role of the nodes that reads go to."),
    /** Threads of the load generator. */
    workers: wholeNumber(1, 256).default(1),
    /** Time from the intended sending until a request without a reply counts as unanswered. @unit milliseconds */
    timeoutMs: wholeNumber(1, 600_000).default(5_000),
    /** Highest number of requests that may wait for a free connection. Further requests are counted but not sent. */
    queue: wholeNumber(0, 10_000_000).default(1_000_000),
  })
  .meta({
    title: "open-loop",
    description:
      "Sends each request at its intended time, even if earlier replies are missing. Latency is measured " +
      "from the intended time.",
  });

/** One workload of the section `workloads`. */
export const workloadSchema = z.discriminatedUnion("loadGenerator", [
  z
    .strictObject({
      loadGenerator: z.literal(DEFAULT_LOAD_GENERATOR).default(DEFAULT_LOAD_GENERATOR).meta(LOAD_GENERATOR),
      ...closedLoop,
      readFrom: readFrom("Role of the nodes that reads go to. Replicas need a cluster and `reads: 1`."),
    })
    .meta({ title: "valkey-benchmark", description: "Sends requests with valkey-benchmark, a closed loop." }),
  openLoopSchema,
  z
    .strictObject({ loadGenerator: loadGenerator("memtier"), ...closedLoop })
    .meta({ title: "memtier", description: "Sends requests with memtier_benchmark, a closed loop." }),
]);
/** One parsed workload. */
export type WorkloadConfig = z.infer<typeof workloadSchema>;
