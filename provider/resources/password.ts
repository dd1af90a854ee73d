/** A generated password. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import { ValkeyResource } from "../custom-resource";

/** Generated once and kept in the state as a secret. */
export class Password extends ValkeyResource {
  /** 48 hexadecimal digits. */
  declare readonly password: Output<string>;

  constructor(name: string, options: CustomResourceOptions = {}) {
    const secret = { ...options, additionalSecretOutputs: ["password"] };
    super("Password", name, { password: undefined }, secret);
  }
}
