/** The section of results.json on a study. Names contain units; unknown values are null, never 0. */
import { z } from "zod";

const count = z.number().min(0);

/** Memory and number of keys of a server while keys were inserted. */
export const tableGrowthSchema = z.strictObject({
  /** In order of time, by the server's own counters. */
  samples: z.array(z.strictObject({ seconds: count, keys: count, bytes: count })),
});
export type TableGrowth = z.infer<typeof tableGrowthSchema>;

const sliceCountsSchema = z.strictObject({
  /** Answered, by the servers' own count. */
  requests: count,
  /** Duration of its slices, added up. */
  seconds: count,
  /** CPU time in older results: it includes halting and waking, so it does not measure what a request costs. */
  cpuSeconds: count.optional(),
});

/** One test of two treatments whose servers were sent to in alternating slices of some milliseconds. */
export const interleavedTestSchema = z.strictObject({
  test: z.string(),
  base: sliceCountsSchema,
  other: sliceCountsSchema,
});

const intervalSchema = z.strictObject({ estimate: z.number(), low: z.number(), high: z.number(), confidence: count });

const cellSchema = z.strictObject({
  id: z.string(),
  label: z.string(),
  /** Factor to level. */
  levels: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Which CPUs are shared; null without pinning, or where servers and load generators have CPUs of their own. */
  shared: z.string().nullable(),
  /** Why the treatment was given up; null where it was not. */
  failed: z.string().nullable(),
});

const metricSchema = z.enum(["throughput", "p99", "cpu-per-operation"]);

export const COMPARISON_VERDICTS = ["greater", "less", "no-difference", "not-enough-data"] as const;

const comparisonSchema = z.strictObject({
  test: z.string(),
  title: z.string(),
  metric: metricSchema,
  base: z.string(),
  other: z.string(),
  /** `other` over `base`. */
  ratio: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  rounds: z.int(),
  verdict: z.enum(COMPARISON_VERDICTS),
  /** Whether the two were measured in alternating slices, not one after the other. */
  interleaved: z.boolean().default(false),
});
export type StudyComparison = z.infer<typeof comparisonSchema>;

const fitSchema = z.strictObject({
  test: z.string(),
  title: z.string(),
  metric: metricSchema,
  /** `throughput against shards, 1 CPU each` */
  what: z.string(),
  /** Null where too little is left to fit. */
  exponent: intervalSchema.nullable(),
  /** The metric at one shard. */
  factor: z.number().nullable(),
  /** Treatments taken into the fit, and those left out with the reason. */
  treatments: z.array(z.string()),
  excluded: z.array(z.strictObject({ treatment: z.string(), why: z.string() })),
});
export type StudyFit = z.infer<typeof fitSchema>;

/** Claim of a document, and what this study can say about it. */
const claimSchema = z.strictObject({
  /** Title of the document. */
  document: z.string(),
  claim: z.string(),
  /** `inconclusive`: this machine or these data can neither support nor contradict the claim. */
  finding: z.enum(["supported", "contradicted", "inconclusive"]),
  why: z.string(),
});
export type Claim = z.infer<typeof claimSchema>;

export const studySchema = z.strictObject({
  name: z.string(),
  kind: z.string(),
  seed: z.int(),
  precision: count,
  budgetSeconds: count,
  elapsedSeconds: count,
  rounds: z.int().min(0),
  /** Why it ended. */
  ended: z.enum(["precise", "budget", "not-yet"]),
  treatments: z.array(cellSchema),
  /** Names of all measurements in the order in which they were made: `3 cluster`, `3 reference load 1`. */
  order: z.array(z.string()),
  /**
   * True when a reference load was off the median of all by more than the limit: then the machine was not the same
   * throughout.
   */
  referenceLoadMoved: z.boolean(),
  comparisons: z.array(comparisonSchema),
  /** Pairs behind comparisons that say `interleaved`: one of each pair and round. */
  interleaved: z
    .array(
      z.strictObject({ round: z.int(), base: z.string(), other: z.string(), tests: z.array(interleavedTestSchema) }),
    )
    .default([]),
  fits: z.array(fitSchema),
  growth: z.array(z.strictObject({ treatment: z.string(), round: z.int(), samples: tableGrowthSchema.shape.samples })),
  /** Sentences: the rule that was found, what stands out. */
  findings: z.array(z.string()),
  claims: z.array(claimSchema),
});
export type StudyRecord = z.infer<typeof studySchema>;
