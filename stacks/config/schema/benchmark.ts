/** Fields and defaults that components have too are in `benchmarks/workloads/benchmark-schema.ts`. */
import { z } from "zod";
import type { BenchmarkSettings } from "../../../benchmarks/workloads/benchmark-schema";
import { benchmarkFields, hasOneLength, TWO_LENGTHS } from "../../../benchmarks/workloads/benchmark-schema";
import { wholeNumber } from "../../../lib/schema/fields";

/** The section `benchmark`. */
export const benchmarkSchema = z
  .strictObject({
    ...benchmarkFields,
    /** Directory of the results. @default results/TIME */
    output: z.string().min(1).optional(),
    /** Whether `npm start` leaves the deployments running. Pulumi always leaves them running. */
    keep: z.boolean().default(false),
    /** Change this number to make the next `pulumi up` measure again. */
    trigger: wholeNumber(0).default(1),
  })
  .refine(hasOneLength, TWO_LENGTHS)
  .meta({ description: "Measurements of all deployments." });
/** The section `benchmark`, parsed. */
export type BenchmarkConfig = Omit<z.infer<typeof benchmarkSchema>, "tests"> & Pick<BenchmarkSettings, "tests">;

/** The section `verification`. */
export const verificationSchema = z
  .strictObject({
    /** Change this number to make the next `pulumi up` verify again. */
    trigger: wholeNumber(0).default(1),
    /** Time limit for the servers to start and for the deployments to form. @unit seconds */
    timeout: wholeNumber(1, 86_400).default(600),
  })
  .meta({ description: "Verification of every deployment before it is measured." });
/** The section `verification`, parsed. */
export type VerificationConfig = z.infer<typeof verificationSchema>;
