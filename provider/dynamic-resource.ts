/**
 * How a Pulumi program declares a custom resource of this project.
 *
 * Pulumi's own `dynamic.Resource` serializes the provider's functions into the state, which takes a compiler and half a
 * second. The text here only loads the project and names a handler: what the handler does is read when it runs.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { HandlerName } from "./resource-handler";

/** A handler's inputs as a program gives them: other resources may have yet to produce the values. */
export type InputsOf<T> = { readonly [K in keyof T]: pulumi.Input<T[K]> };

const LOADER = readFileSync(join(__dirname, "load-provider.cjs"), "utf8");

/** A resource that `provider/handlers/HANDLER.ts` creates, updates and deletes. */
export abstract class DynamicResource extends pulumi.CustomResource {
  /**
   * @param type the last part of the resource's type, such as `Password`
   * @param properties the inputs, and the outputs as undefined
   */
  constructor(
    handler: HandlerName,
    type: string,
    name: string,
    properties: pulumi.Inputs,
    options: pulumi.CustomResourceOptions,
  ) {
    const code = `const HANDLER = ${JSON.stringify(handler)};\n${LOADER}`;
    super(`pulumi-nodejs:dynamic/valkey:${type}`, name, { ...properties, __provider: code }, options);
  }
}
