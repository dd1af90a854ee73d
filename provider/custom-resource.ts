/** How a Pulumi program declares a custom resource of the provider `valkey`. */
import * as pulumi from "@pulumi/pulumi";
import { withPackageVersion } from "./package-version";
import type { ResourceName } from "./resource-names";
import { resourceType } from "./resource-names";

/** A resource's inputs as a program gives them: other resources may have yet to produce the values. */
export type InputsOf<T> = { readonly [K in keyof T]: pulumi.Input<T[K]> };

/** A resource that the handler of its name creates, updates and deletes: see `provider/handlers.ts`. */
export abstract class ValkeyResource extends pulumi.CustomResource {
  /** @param properties the inputs, and the outputs as undefined */
  constructor(
    resource: ResourceName,
    name: string,
    properties: pulumi.Inputs,
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(resourceType(resource), name, withPackageVersion(properties), options);
  }
}
