/** A generated password. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { PasswordInputs } from "../handlers/password";

/** Generated once for each version, and kept in the state as a secret. */
export class Password extends ValkeyResource {
  /** 48 hexadecimal digits. */
  declare readonly password: Output<string>;

  constructor(name: string, inputs: InputsOf<PasswordInputs>, options: CustomResourceOptions = {}) {
    const secret = { ...options, additionalSecretOutputs: ["password"] };
    super("Password", name, { ...inputs, password: undefined }, secret);
  }
}
