import { z } from "zod";
import { type BenchmarkConfig, type VerificationConfig, benchmarkSchema, verificationSchema } from "./benchmark";
import { type CapacityConfig, capacitySchema } from "../../../benchmarks/capacity/capacity-schema";
import { type DeploymentConfig, deploymentName, deploymentSchema } from "./deployments";
import { type ScenarioConfig, failureSchema } from "./failures";
import { recordName } from "../../../lib/schema/fields";
import { type HostConfig, type PlatformConfig, platformSchema } from "./platform";
import { type StudySectionConfig, studyConfigSchema } from "./study";
import { type WorkloadConfig, workloadSchema } from "../../../benchmarks/workloads/mixed-workload-schema";

/** A stack's configuration, parsed. */
export interface StackConfig {
  readonly platform: PlatformConfig;
  readonly verification: VerificationConfig;
  /** Deployments by name. */
  readonly deployments: Readonly<Record<string, DeploymentConfig>>;
  readonly benchmark: BenchmarkConfig;
  /** Mixed workloads by name, measured after the tests. */
  readonly workloads: Readonly<Record<string, WorkloadConfig>>;
  /** Fault scenarios by name. `npm start -- break` runs them. */
  readonly failures: Readonly<Record<string, ScenarioConfig>>;
  /** Whether the Pulumi program of the stack measures the deployments. `npm start` always measures the deployments. */
  readonly measures: boolean;
  /** Search for the highest rate that each deployment can serve, after the measurements. Undefined without a search. */
  readonly capacity?: CapacityConfig | undefined;
  /** Study that `npm start -- study` runs. Other commands ignore it. */
  readonly study?: StudySectionConfig | undefined;
}

export type HostStackConfig = StackConfig & { readonly platform: HostConfig };

/** Parsed separately, so a problem in one section does not hide problems in the others. */
export const SECTIONS = {
  /** Platform on which the servers run. */
  platform: platformSchema.clone(),
  /** Deployments by name. */
  deployments: z
    .record(deploymentName, deploymentSchema)
    .refine((all) => Object.keys(all).length > 0, "expected at least one deployment"),
  verification: verificationSchema,
  benchmark: benchmarkSchema,
  /** Mixed workloads by name, measured after the tests of `valkey:benchmark`. */
  workloads: z.record(recordName, workloadSchema),
  capacity: capacitySchema,
  study: studyConfigSchema,
  /** Fault scenarios by name (`npm start -- break`). */
  failures: z.record(recordName, failureSchema),
} as const;
