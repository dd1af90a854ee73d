/** The verdict on a deployment as a resource: fails the update when it is FAIL, is on record when it is PASS. */
import * as pulumi from "@pulumi/pulumi";
import type { TopologyRecord } from "../../benchmarks/results/schema";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { dynamicResource } from "../dynamic-resource";

export interface TopologyCheckInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** What formation took; a new formation is a reason to look again. Null where the deployment forms itself. */
  readonly formationMs: number | null;
  /** Of its pods; another one restarts them. Null where servers restart in no other way than by being replaced. */
  readonly revision: string | null;
  /** How long its pods may take to run. */
  readonly timeoutSeconds: number;
  /** Another number is another check. */
  readonly trigger: number;
}

export interface TopologyCheckOutputs {
  /** As found, with the verdict's rows. */
  readonly topology: TopologyRecord;
}

export class TopologyCheck extends pulumi.dynamic.Resource {
  declare readonly topology: pulumi.Output<TopologyRecord>;

  constructor(
    name: string,
    args: { readonly [K in keyof TopologyCheckInputs]: pulumi.Input<TopologyCheckInputs[K]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(
      dynamicResource("topology-check"),
      name,
      { ...args, topology: undefined },
      options,
      "valkey",
      "TopologyCheck",
    );
  }
}
