/** Users that may log in to running servers. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { Users } from "../../valkey/access/users";
import type { AccessInputs } from "../handlers/access";

/**
 * Updated before everything else of a deployment: all nodes then accept new passwords beside the former ones, and the
 * rules of users hold. Rules that a server refuses fail the update before anything has changed.
 */
export class Access extends ValkeyResource {
  /** Password of the user `default`, once all nodes accept it. Secret. */
  declare readonly password: Output<string>;
  /** Beside `default`, once all nodes have them. Secret. */
  declare readonly users: Output<Users>;
  /** When nodes were last told, ISO 8601; empty when never. */
  declare readonly changedAt: Output<string>;

  constructor(name: string, inputs: InputsOf<AccessInputs>, options: CustomResourceOptions = {}) {
    super("Access", name, { ...inputs, changedAt: undefined, drift: undefined }, options);
  }
}
