/**
 * Pods that are all as their StatefulSet has them now, and ready. Pulumi's own waiting says neither in time nor in
 * a sentence what keeps pods from running, and of a chart's it cannot be told for how long; so it does not wait.
 */
import * as pulumi from "@pulumi/pulumi";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { dynamicResource } from "../dynamic-resource";

export interface RolloutInputs {
  readonly target: KubernetesReference;
  /** Changes with what the pods are made of. */
  readonly revision: string;
  /** How long they may take to start; a change that restarts them has a minute more for each. */
  readonly timeoutSeconds: number;
}

export class Rollout extends pulumi.dynamic.Resource {
  constructor(
    name: string,
    args: { readonly [K in keyof RolloutInputs]: pulumi.Input<RolloutInputs[K]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(dynamicResource("rollout"), name, { ...args }, options, "valkey", "Rollout");
  }
}
