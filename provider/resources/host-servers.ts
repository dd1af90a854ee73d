/** valkey-server processes on this machine. */
import type { CustomResourceOptions, Input, Output } from "@pulumi/pulumi";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { ValkeyResource } from "../custom-resource";
import type { HostServersInputs } from "../handlers/host-servers";

/** Inputs that a program knows before any resource exists; the password may come from one. */
export type HostServersArgs = Omit<HostServersInputs, "password"> & { readonly password: Input<string> };

/**
 * The processes outlive the engine and share one directory per deployment. Another shape is an update: processes start,
 * or lose their slots and stop, while the others serve.
 */
export class HostServers extends ValkeyResource {
  declare readonly target: Output<DeploymentReference>;
  /** Version of valkey-server, such as `9.1.2`. */
  declare readonly version: Output<string>;
  /** The run directory. */
  declare readonly directory: Output<string>;

  constructor(name: string, args: HostServersArgs, options: CustomResourceOptions = {}) {
    const outputs = { target: undefined, version: undefined, directory: undefined };
    super("HostServers", name, { ...args, ...outputs }, options);
  }
}
