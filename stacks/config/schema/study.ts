/** The section `study`: the factors that a study varies, its precision and its time budget. */
import { z } from "zod";
import { type Variation, PERSISTENCE } from "../../../benchmarks/studies/factors";
import { STUDY_KINDS } from "../../../benchmarks/studies/study";
import { ENGINE_PATTERN } from "../../../platforms/host/programs/engines";
import { valueBytes } from "../../../benchmarks/workloads/mixed-workload-schema";
import { wholeNumber, byteSize } from "../../../lib/schema/fields";

const MAX_BUDGET_SECONDS = 30 * 86_400;

function levels<T extends z.ZodType>(level: T): z.ZodOptional<z.ZodArray<T>> {
  return z
    .array(level)
    .min(1)
    .refine((all) => new Set(all).size === all.length, "a level is named twice")
    .optional();
}

const engine = z
  .string()
  .regex(ENGINE_PATTERN, "expected valkey or redis, with or without a version as in valkey-8.1, or a directory");

const primaries = wholeNumber(1, 1000).refine(
  (value) => value !== 2,
  "expected 1 for a primary outside cluster mode, or at least 3 for a cluster",
);

const varySchema = z.strictObject({
  /** Modes of the deployment. */
  mode: levels(z.enum(["replication", "cluster"])),
  /** Numbers of primaries. 1 is a single primary outside cluster mode; clusters have 3 or more. */
  primaries: levels(primaries),
  /** Numbers of replicas per primary. */
  replicas: levels(wholeNumber(0, 10)),
  /** Numbers of I/O threads per server. A study may use more threads than there are cores. */
  "io-threads": levels(wholeNumber(1, 256)),
  /** Server programs: `valkey`, `valkey-8.1`, `redis`, or the directory of the programs. */
  engine: levels(engine),
  /** Numbers of CPUs that each server is pinned to. */
  cpus: levels(wholeNumber(1, 256)),
  /** Value sizes. @unit bytes */
  dataSize: levels(valueBytes),
  /** Numbers of requests in flight per connection. */
  pipeline: levels(wholeNumber(1, 10_000)),
  /** Numbers of connections of each load generator. */
  clients: levels(wholeNumber(1, 100_000)),
  /** Numbers of threads of each load generator. */
  threads: levels(wholeNumber(1, 500)),
  /** Numbers of load generators that run at the same time. */
  runners: levels(wholeNumber(1, 256)),
  /** Offered rates of all load generators together. 0 is unlimited. @unit requests per second */
  rate: levels(wholeNumber(0, 1_000_000_000)),
  /** Kinds of persistence. */
  persistence: levels(z.enum(PERSISTENCE)),
  /** Sizes of the replication backlog. @unit bytes */
  backlog: levels(byteSize),
});

const growthSchema = z.strictObject({
  /** Number of keys at the end of the measurement. */
  keys: wholeNumber(100_000, 1_000_000_000),
  /** Value size. @unit bytes */
  dataSize: valueBytes.default(64),
});

/** The section `study`. */
export const studyConfigSchema = z
  .strictObject({
    /**
     * Analysis of the results. `comparison` only compares treatments. The other analyses also judge the claims of a
     * published document (docs/sources.md).
     */
    kind: z.enum(STUDY_KINDS).default("comparison"),
    /**
     * Settings that the study varies (factors), each with a list of values (levels). The first level of a factor is its
     * baseline.
     */
    vary: varySchema.prefault({}),
    /**
     * Target relative precision of each comparison: 0.05 is 5 %. The study repeats measurements until all comparisons
     * reach this precision, or until the budget is spent.
     */
    precision: z.number().gt(0).max(1).default(0.05),
    /** Time limit of the study. @unit seconds */
    budget: wholeNumber(1, MAX_BUDGET_SECONDS).default(600),
    /** Seed of the measurements' order. @default a random seed, recorded in the results */
    seed: wholeNumber(1, 1_000_000_000).optional(),
    /** Number of load generators that run at the same time, unless `vary.runners` is set. */
    runners: wholeNumber(1, 256).default(1),
    /**
     * Measurement of a growing hash table. For every treatment with one node, keys are inserted into an empty server,
     * while its memory and the insertion rate are sampled.
     * @default no such measurement
     */
    growth: growthSchema.optional(),
  })
  .meta({ description: "Study of a stack on this machine (`npm start -- study`)." });
/** The section `study`, parsed. */
export type StudySectionConfig = Omit<z.infer<typeof studyConfigSchema>, "vary"> & { readonly vary: Variation };
