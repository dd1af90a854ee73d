/** The section `experiment`: what a study varies, how well it should know, and how long it may take. */
import { z } from "zod";
import type { Variation } from "../../../benchmarks/studies/factors";
import { PERSISTENCE } from "../../../benchmarks/studies/factors";
import { STUDY_KINDS } from "../../../benchmarks/studies/study";
import { ENGINE_PATTERN } from "../../../platforms/host/engines";
import { parseSize } from "../../../lib/units";

const count = (least: number, most: number): z.ZodNumber => z.int().min(least).max(most);

function levels<T extends z.ZodType>(level: T): z.ZodOptional<z.ZodArray<T>> {
  return z
    .array(level)
    .min(1)
    .refine((all) => new Set(all).size === all.length, "a level is named twice")
    .optional();
}

/** Bytes, as a number or as valkey.conf writes sizes: `16mb`. */
const size = z.union([z.int().min(0), z.string()]).transform((value, context) => {
  const bytes = typeof value === "number" ? value : parseSize(value);
  if (bytes !== undefined) return bytes;
  context.addIssue({ code: "custom", message: "expected bytes, or a size such as 16mb" });
  return z.NEVER;
});

/** Factor to its levels; the first is what the others are compared with. */
const varySchema = z.strictObject({
  mode: levels(z.enum(["replication", "cluster"])),
  /** One is a single primary outside cluster mode; clusters have three or more. */
  primaries: levels(
    count(1, 1000).refine(
      (primaries) => primaries !== 2,
      "a cluster needs at least 3 primaries; 1 is a primary without a cluster",
    ),
  ),
  /** Of each primary. */
  replicas: levels(count(0, 10)),
  /** Also as many as the cores, or more: that step is what a study may be about. */
  "io-threads": levels(count(1, 256)),
  /** `valkey`, `valkey-8.1`, `redis`, or the directory of the programs. */
  engine: levels(
    z
      .string()
      .regex(
        ENGINE_PATTERN,
        "expected valkey or redis, perhaps with a version as in valkey-8.1, or the directory of the programs",
      ),
  ),
  /** CPUs each server is held to. */
  cpus: levels(count(1, 256)),
  /** Bytes per value. */
  dataSize: levels(count(1, 512 * 1024 * 1024)),
  pipeline: levels(count(1, 10_000)),
  /** Connections of each load generator. */
  clients: levels(count(1, 100_000)),
  /** Threads of each load generator. */
  threads: levels(count(1, 500)),
  /** Load generators side by side. */
  runners: levels(count(1, 256)),
  /** Requests offered per second in all; 0 is as many as can be. */
  rate: levels(count(0, 1_000_000_000)),
  persistence: levels(z.enum(PERSISTENCE)),
  /** Of the replication backlog. */
  backlog: levels(size),
});

export const studyConfigSchema = z.strictObject({
  /** What the findings are evaluated as: one of the five documents', or only as comparisons. */
  study: z.enum(STUDY_KINDS).default("comparison"),
  vary: varySchema.default({}),
  /** Part of a figure that matters: the study goes on until each comparison is as exact, or the budget is spent. */
  precision: z.number().gt(0).max(1).default(0.05),
  /** Seconds it may take. */
  budget: count(1, 30 * 86_400).default(600),
  /** Of the order. @default a new one, on record */
  seed: count(1, 1_000_000_000).optional(),
  /** Load generators side by side, where they are not varied. */
  runners: count(1, 256).default(1),
  /** Keys put in from nothing on every cell of one node, while memory and rate are watched. */
  growth: z
    .strictObject({
      keys: count(100_000, 1_000_000_000),
      /** Bytes per value. */ dataSize: count(1, 512 * 1024 * 1024).default(64),
    })
    .optional(),
});
export type ExperimentConfig = Omit<z.infer<typeof studyConfigSchema>, "vary"> & { readonly vary: Variation };
