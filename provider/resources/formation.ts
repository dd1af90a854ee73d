/** Formation of a deployment as a resource: done when every node agrees and every replica's link is up. */
import * as pulumi from "@pulumi/pulumi";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { dynamicResource } from "../dynamic-resource";

export interface FormationInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** How long it may take. */
  readonly timeoutSeconds: number;
}

export interface FormationOutputs {
  /** From nodes that run to a cluster that serves. */
  readonly milliseconds: number;
}

export class Formation extends pulumi.dynamic.Resource {
  declare readonly milliseconds: pulumi.Output<number>;

  constructor(
    name: string,
    args: pulumi.Inputs & { readonly [K in keyof FormationInputs]: pulumi.Input<FormationInputs[K]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(dynamicResource("formation"), name, { ...args, milliseconds: undefined }, options, "valkey", "Formation");
  }
}
