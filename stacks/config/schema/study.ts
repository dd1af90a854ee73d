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
  mode: levels(z.enum(["replication", "cluster"])).meta({ description: "Modes of the deployment." }),
  primaries: levels(primaries).meta({
    description: "Numbers of primaries. 1 is a single primary outside cluster mode; clusters have 3 or more.",
  }),
  replicas: levels(wholeNumber(0, 10)).meta({ description: "Numbers of replicas per primary." }),
  "io-threads": levels(wholeNumber(1, 256)).meta({
    description: "Numbers of I/O threads per server. A study may use more threads than there are cores.",
  }),
  engine: levels(engine).meta({
    description: "Server programs: `valkey`, `valkey-8.1`, `redis`, or the directory of the programs.",
  }),
  cpus: levels(wholeNumber(1, 256)).meta({ description: "Numbers of CPUs that each server is pinned to." }),
  dataSize: levels(valueBytes).meta({ description: "Value sizes.", unit: "bytes" }),
  pipeline: levels(wholeNumber(1, 10_000)).meta({ description: "Numbers of requests in flight per connection." }),
  clients: levels(wholeNumber(1, 100_000)).meta({ description: "Numbers of connections of each load generator." }),
  threads: levels(wholeNumber(1, 500)).meta({ description: "Numbers of threads of each load generator." }),
  runners: levels(wholeNumber(1, 256)).meta({ description: "Numbers of load generators that run at the same time." }),
  rate: levels(wholeNumber(0, 1_000_000_000)).meta({
    description: "Offered rates of all load generators together. 0 is unlimited.",
    unit: "requests per second",
  }),
  persistence: levels(z.enum(PERSISTENCE)).meta({ description: "Kinds of persistence." }),
  backlog: levels(byteSize).meta({ description: "Sizes of the replication backlog.", unit: "bytes" }),
});

const growthSchema = z.strictObject({
  keys: wholeNumber(100_000, 1_000_000_000).meta({ description: "Number of keys at the end of the measurement." }),
  dataSize: valueBytes.default(64).meta({ description: "Value size.", unit: "bytes" }),
});

/** The section `study`. */
export const studyConfigSchema = z
  .strictObject({
    kind: z
      .enum(STUDY_KINDS)
      .default("comparison")
      .meta({
        description:
          "Analysis of the results. `comparison` only compares treatments. The other analyses also judge the claims " +
          "of a published document (docs/sources.md).",
      }),
    vary: varySchema.prefault({}).meta({
      description:
        "Settings that the study varies (factors), each with a list of values (levels). The first level " +
        "of a factor is its baseline.",
    }),
    precision: z
      .number()
      .gt(0)
      .max(1)
      .default(0.05)
      .meta({
        description:
          "Target relative precision of each comparison: 0.05 is 5 %. The study repeats measurements until all " +
          "comparisons reach this precision, or until the budget is spent.",
      }),
    budget: wholeNumber(1, MAX_BUDGET_SECONDS)
      .default(600)
      .meta({ description: "Time limit of the study.", unit: "seconds" }),
    seed: wholeNumber(1, 1_000_000_000).optional().meta({
      description: "Seed of the measurements' order.",
      fallback: "a random seed, recorded in the results",
    }),
    runners: wholeNumber(1, 256).default(1).meta({
      description: "Number of load generators that run at the same time, unless `vary.runners` is set.",
    }),
    growth: growthSchema.optional().meta({
      description:
        "Measurement of a growing hash table. For every treatment with one node, keys are inserted into " +
        "an empty server, while its memory and the insertion rate are sampled.",
      fallback: "no such measurement",
    }),
  })
  .meta({ description: "Study of a stack on this machine (`npm start -- study`)." });
/** The section `study`, parsed. */
export type StudySectionConfig = Omit<z.infer<typeof studyConfigSchema>, "vary"> & { readonly vary: Variation };
