/** A generated password: made once, kept in the state as a secret. */
import * as pulumi from "@pulumi/pulumi";
import { dynamicResource } from "../dynamic-resource";

export class Password extends pulumi.dynamic.Resource {
  /** 48 hexadecimal digits. */
  declare readonly password: pulumi.Output<string>;

  constructor(name: string, options: pulumi.CustomResourceOptions = {}) {
    super(
      dynamicResource("password"),
      name,
      { password: undefined },
      { ...options, additionalSecretOutputs: ["password"] },
      "valkey",
      "Password",
    );
  }
}
