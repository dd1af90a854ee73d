/** Measurements of verified deployments. */
import type { CustomResourceOptions, Input, Output } from "@pulumi/pulumi";
import type { Comparison, MeasuredResults } from "../../benchmarks/results/comparison";
import { ValkeyResource } from "../custom-resource";
import type { MeasuredTarget } from "../handlers/load-generator";
import type { MeasurementInputs } from "../handlers/measurement";

export type MeasurementArgs = Omit<MeasurementInputs, "targets" | "clients"> & {
  readonly targets: Input<readonly MeasuredTarget[]>;
  readonly clients?: Input<NonNullable<MeasurementInputs["clients"]>> | undefined;
};

/** Measured once and kept in the state; measured again when an input changes. */
export class Measurement extends ValkeyResource {
  /** Without latency distributions, which results.json has. */
  declare readonly results: Output<MeasuredResults>;
  declare readonly comparison: Output<readonly Comparison[]>;
  /** summary.txt */
  declare readonly summary: Output<string>;
  /** Path of the report: from the program's directory where it is inside, else absolute. */
  declare readonly report: Output<string>;

  constructor(name: string, args: MeasurementArgs, options: CustomResourceOptions = {}) {
    const outputs = { results: undefined, comparison: undefined, summary: undefined, report: undefined };
    super("Measurement", name, { ...args, ...outputs }, options);
  }
}
