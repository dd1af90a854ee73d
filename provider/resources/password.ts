/** A generated password. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import { DynamicResource } from "../dynamic-resource";

/** Generated once and kept in the state as a secret. */
export class Password extends DynamicResource {
  /** 48 hexadecimal digits. */
  declare readonly password: Output<string>;

  constructor(name: string, options: CustomResourceOptions = {}) {
    const secret = { ...options, additionalSecretOutputs: ["password"] };
    super("password", "Password", name, { password: undefined }, secret);
  }
}
