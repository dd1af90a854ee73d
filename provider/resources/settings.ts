/** Settings of running servers. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { SettingsInputs } from "../handlers/settings";

/**
 * Updated before the servers' files. Running servers are told what they take without a restart, all of them or none; a
 * value that a server refuses fails the update before anything has changed.
 */
export class Settings extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<SettingsInputs>, options: CustomResourceOptions = {}) {
    super("Settings", name, { ...inputs, pending: undefined, drift: undefined }, options);
  }
}
