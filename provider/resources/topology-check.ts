/** The verdict on a deployment. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { TopologyRecord } from "../../benchmarks/results/schema";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { TopologyCheckInputs } from "../handlers/topology-check";

/** Fails the update when the verdict is FAIL. A PASS is kept in the state until an input changes. */
export class TopologyCheck extends ValkeyResource {
  /** As found, with every row of the verdict. */
  declare readonly topology: Output<TopologyRecord>;
  /** When the deployment was verified, ISO 8601. */
  declare readonly verifiedAt: Output<string>;

  constructor(name: string, inputs: InputsOf<TopologyCheckInputs>, options: CustomResourceOptions = {}) {
    super(
      "TopologyCheck",
      name,
      { ...inputs, topology: undefined, data: undefined, verifiedAt: undefined, drift: undefined },
      options,
    );
  }
}
