/** Forms a cluster from running nodes. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { FormationInputs } from "../handlers/formation";

/** Done when every node agrees on the topology and every replica's link to its primary is up. */
export class Formation extends ValkeyResource {
  /** From running nodes to a cluster that serves. */
  declare readonly milliseconds: Output<number>;
  /** Problems that a refresh found and the next update repairs; empty when there are none. */
  declare readonly drift: Output<readonly string[]>;

  constructor(name: string, inputs: InputsOf<FormationInputs>, options: CustomResourceOptions = {}) {
    super("Formation", name, { ...inputs, milliseconds: undefined, drift: undefined }, options);
  }
}
