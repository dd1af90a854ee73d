/** Forms a cluster from running nodes. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../dynamic-resource";
import { DynamicResource } from "../dynamic-resource";
import type { FormationInputs } from "../handlers/formation";

/** Done when every node agrees on the topology and every replica's link to its primary is up. */
export class Formation extends DynamicResource {
  /** From running nodes to a cluster that serves. */
  declare readonly milliseconds: Output<number>;

  constructor(name: string, inputs: InputsOf<FormationInputs>, options: CustomResourceOptions = {}) {
    super("formation", "Formation", name, { ...inputs, milliseconds: undefined }, options);
  }
}
