/** The end of former passwords. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { PasswordRetirementInputs } from "../handlers/password-retirement";

/**
 * Updated after the servers' files. Waits while two passwords are valid, and then leaves the new one alone. An update that
 * is interrupted meanwhile waits again.
 */
export class PasswordRetirement extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<PasswordRetirementInputs>, options: CustomResourceOptions = {}) {
    super("PasswordRetirement", name, { ...inputs }, options);
  }
}
