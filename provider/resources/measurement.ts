/** Measurements of verified deployments. */
import type { CustomResourceOptions, Input, Output } from "@pulumi/pulumi";
import type { Results } from "../../benchmarks/results/schema";
import { ValkeyResource } from "../custom-resource";
import type { MeasuredTarget } from "../handlers/load-generator";
import type { MeasurementInputs } from "../handlers/measurement";

export type MeasurementArgs = Omit<MeasurementInputs, "targets"> & {
  readonly targets: Input<readonly MeasuredTarget[]>;
};

/** Measured once and kept in the state; measured again when an input changes. */
export class Measurement extends ValkeyResource {
  declare readonly results: Output<Results>;
  /** Path of the report, from the project's directory. */
  declare readonly report: Output<string>;

  constructor(name: string, args: MeasurementArgs, options: CustomResourceOptions = {}) {
    super("Measurement", name, { ...args, results: undefined, report: undefined }, options);
  }
}
