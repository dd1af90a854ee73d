/**
 * Empties the nodes that are about to go. It stands before the servers in the order of resources: a smaller shape is
 * carried out here, on all the nodes there still are, before Kubernetes takes the last ones away.
 */
import * as pulumi from "@pulumi/pulumi";
import type { Target } from "../benchmarks/target";
import { handledBy } from "./handled";

export interface DrainInputs {
  readonly target: Target;
  readonly password: string;
  /** How long it may take. */
  readonly timeoutSeconds: number;
}

export class Drain extends pulumi.dynamic.Resource {
  constructor(name: string, args: { readonly [K in keyof DrainInputs]: pulumi.Input<DrainInputs[K]> }, options: pulumi.CustomResourceOptions = {}) {
    super(handledBy("drain"), name, { ...args }, options, "valkey", "Drain");
  }
}
