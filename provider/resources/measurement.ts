/** Measurements of verified deployments as a resource: made once, kept in the state, made anew when what they are of changes. */
import * as pulumi from "@pulumi/pulumi";
import type { RunnerPlan } from "../../benchmarks/load/jobs/benchmark-job";
import type { CapacitySearch } from "../../benchmarks/measuring/measure-all";
import type { Results } from "../../benchmarks/results/schema";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { MixedWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { Workload } from "../../benchmarks/workloads/workload";
import { dynamicResource } from "../dynamic-resource";

export interface MeasuredTarget {
  readonly target: DeploymentReference;
  readonly password: string;
  readonly formationMs: number | null;
}

export interface MeasurementInputs {
  readonly targets: readonly MeasuredTarget[];
  readonly workload: Workload;
  /** Measured after the workload's tests. @default none */
  readonly mixes?: readonly MixedWorkload[] | undefined;
  readonly repeats: number;
  /** Searched for after all else. @default not */
  readonly capacity?: CapacitySearch | undefined;
  readonly stack: string;
  /** Directory for the artifacts. @default results/TIME in the project */
  readonly output?: string | undefined;
  /** For the record. */
  readonly configuration: unknown;
  /** Another number is another measurement. */
  readonly trigger: number;
  /** Where the load generators run. @default one pod, apart from the servers */
  readonly clients?: RunnerPlan | undefined;
  /** How long pods may take to run. */
  readonly timeoutSeconds: number;
}

export interface MeasurementOutputs {
  readonly results: Results;
  /** Path of the report. */
  readonly report: string;
}

export class Measurement extends pulumi.dynamic.Resource {
  declare readonly results: pulumi.Output<Results>;
  declare readonly report: pulumi.Output<string>;

  constructor(
    name: string,
    args: Omit<MeasurementInputs, "targets"> & { readonly targets: pulumi.Input<readonly MeasuredTarget[]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(
      dynamicResource("measurement"),
      name,
      { ...args, results: undefined, report: undefined },
      options,
      "valkey",
      "Measurement",
    );
  }
}
