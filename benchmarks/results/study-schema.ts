/** The section of results.json about a study. Names contain units. Unknown values are null, never 0. */
import { z } from "zod";

const count = z.number().min(0);

/** Memory and number of keys of a server while keys were inserted. */
export const tableGrowthSchema = z.strictObject({
  /** Samples in the order of time, from the server's own counters. */
  samples: z.array(z.strictObject({ seconds: count, keys: count, bytes: count })),
});
export type TableGrowth = z.infer<typeof tableGrowthSchema>;

const sliceCountsSchema = z.strictObject({
  /** Number of answered requests, by the servers' own counters. */
  requests: count,
  /** Seconds in which the treatment received load. This is the total duration of its time slices. */
  seconds: count,
  /**
   * CPU seconds, in older results only. They include the CPU time for pausing and resuming. So they do not show the
   * cost of a request.
   */
  cpuSeconds: count.optional(),
});

/**
 * One test of a pair of treatments. The servers of both treatments received load in alternating slices of some
 * milliseconds.
 */
export const interleavedTestSchema = z.strictObject({
  test: z.string(),
  base: sliceCountsSchema,
  other: sliceCountsSchema,
});

const intervalSchema = z.strictObject({ estimate: z.number(), low: z.number(), high: z.number(), confidence: count });

const cellSchema = z.strictObject({
  id: z.string(),
  label: z.string(),
  /** Level of each factor (varied setting) in this treatment, by the factor's name. */
  levels: z.record(z.string(), z.union([z.string(), z.number()])),
  /**
   * Description of the CPUs that servers share with load generators; null if servers and load generators have separate
   * CPUs, or if nothing is pinned.
   */
  shared: z.string().nullable(),
  /** Reason why the treatment was given up; null if the treatment was not given up. */
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
  /** Value of the treatment `other` divided by the value of the treatment `base`. */
  ratio: z.number().nullable(),
  low: z.number().nullable(),
  high: z.number().nullable(),
  rounds: z.int(),
  verdict: z.enum(COMPARISON_VERDICTS),
  /**
   * Whether the two treatments were measured in alternating slices. If false, the treatments were measured one after
   * the other.
   */
  interleaved: z.boolean().default(false),
});
export type StudyComparison = z.infer<typeof comparisonSchema>;

const fitSchema = z.strictObject({
  test: z.string(),
  title: z.string(),
  metric: metricSchema,
  /** Title of the fit: `throughput against shards, 1 CPU`. */
  what: z.string(),
  /** Exponent of the power law; null if there are too few points for a fit. */
  exponent: intervalSchema.nullable(),
  /** Value of the metric with a single shard. */
  factor: z.number().nullable(),
  /** IDs of the treatments in the fit. `excluded` lists all other treatments with the reasons. */
  treatments: z.array(z.string()),
  excluded: z.array(z.strictObject({ treatment: z.string(), why: z.string() })),
});
export type StudyFit = z.infer<typeof fitSchema>;

/** A claim of a published document, and the conclusion of the study about this claim. */
const claimSchema = z.strictObject({
  /** Title of the published document. */
  document: z.string(),
  claim: z.string(),
  /** Conclusion. `inconclusive` means that this machine or these data can neither support nor contradict the claim. */
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
  /** Reason why the study ended; `not-yet` if it has not ended. */
  ended: z.enum(["precise", "budget", "not-yet"]),
  treatments: z.array(cellSchema),
  /** Names of all measurements in the order in which they were made, such as `3 cluster` and `3 reference load 1`. */
  order: z.array(z.string()),
  /**
   * Whether any reference load differed from the median of all reference loads by more than the limit. If true, the
   * speed of the machine changed during the study.
   */
  referenceLoadMoved: z.boolean(),
  comparisons: z.array(comparisonSchema),
  /** Request counts of pairs that were measured in alternating time slices, one entry for each pair and round. */
  interleaved: z
    .array(
      z.strictObject({ round: z.int(), base: z.string(), other: z.string(), tests: z.array(interleavedTestSchema) }),
    )
    .default([]),
  fits: z.array(fitSchema),
  growth: z.array(z.strictObject({ treatment: z.string(), round: z.int(), samples: tableGrowthSchema.shape.samples })),
  /** Findings of the study, as sentences, such as the best number of io-threads. */
  findings: z.array(z.string()),
  claims: z.array(claimSchema),
});
export type StudyRecord = z.infer<typeof studySchema>;
