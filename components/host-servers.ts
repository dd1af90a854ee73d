/** valkey-server processes on this machine that outlive the engine, one directory for all of a deployment. */
import * as pulumi from "@pulumi/pulumi";
import type { HostPlan } from "../benchmarks/host/host";
import type { Target } from "../benchmarks/target";
import { handledBy } from "./handled";

export interface HostServersInputs {
  readonly plan: Omit<HostPlan, "password">;
  readonly password: string;
  /** Names the run directory's owner: project, stack and deployment. */
  readonly owner: string;
}

export interface HostServersOutputs {
  readonly target: Target;
  /** `9.1.2` */
  readonly version: string;
  readonly directory: string;
}

export class HostServers extends pulumi.dynamic.Resource {
  declare readonly target: pulumi.Output<Target>;
  declare readonly version: pulumi.Output<string>;
  declare readonly directory: pulumi.Output<string>;

  constructor(name: string, args: Omit<HostServersInputs, "password"> & { readonly password: pulumi.Input<string> }, options: pulumi.CustomResourceOptions = {}) {
    super(handledBy("host-servers"), name, { ...args, target: undefined, version: undefined, directory: undefined }, options, "valkey", "HostServers");
  }
}
