/**
 * Stands before the servers in the order of resources, for what has to come before they change. Nodes that are about to go
 * are emptied: a smaller shape is carried out here, on all the nodes there still are, before Kubernetes takes the last ones
 * away. And a change that would take volumes with data away is refused, at preview already.
 */
import * as pulumi from "@pulumi/pulumi";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { dynamicResource } from "../dynamic-resource";

export interface ScaleInInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** How long it may take. */
  readonly timeoutSeconds: number;
  /** Of each node's volume. */
  readonly storage: VolumeRequest;
}

export interface VolumeRequest {
  /** @default the cluster's default class */
  readonly className?: string | undefined;
  readonly size: string;
}

export class ScaleIn extends pulumi.dynamic.Resource {
  constructor(
    name: string,
    args: { readonly [K in keyof ScaleInInputs]: pulumi.Input<ScaleInInputs[K]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(dynamicResource("scale-in"), name, { ...args }, options, "valkey", "Drain");
  }
}
