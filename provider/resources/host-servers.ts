/**
 * valkey-server processes on this machine that outlive the engine, one directory for all of a deployment. Another shape is an
 * update: servers are started, or emptied and ended, while the others serve.
 */
import * as pulumi from "@pulumi/pulumi";
import type { HostDeploymentPlan } from "../../platforms/host/host";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import type { Shape } from "../../valkey/topology/placement";
import { dynamicResource } from "../dynamic-resource";

export interface HostServersInputs {
  /** Another one makes other servers. */
  readonly plan: Omit<HostDeploymentPlan, "password" | "shape">;
  readonly shape: Shape;
  readonly password: string;
  /** Names the run directory's owner: project, stack and deployment. */
  readonly owner: string;
  /** How long another shape may take. */
  readonly timeoutSeconds: number;
}

export interface HostServersOutputs {
  readonly target: DeploymentReference;
  /** `9.1.2` */
  readonly version: string;
  readonly directory: string;
}

export class HostServers extends pulumi.dynamic.Resource {
  declare readonly target: pulumi.Output<DeploymentReference>;
  declare readonly version: pulumi.Output<string>;
  declare readonly directory: pulumi.Output<string>;

  constructor(
    name: string,
    args: Omit<HostServersInputs, "password"> & { readonly password: pulumi.Input<string> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(
      dynamicResource("host-servers"),
      name,
      { ...args, target: undefined, version: undefined, directory: undefined },
      options,
      "valkey",
      "HostServers",
    );
  }
}
