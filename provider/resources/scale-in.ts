/** Steps that have to happen before the pods of a deployment change. */
import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { ScaleInInputs } from "../handlers/scale-in";

/**
 * Updated before the servers. A smaller shape is carried out here, while all nodes run: the leaving nodes lose their
 * slots before Kubernetes deletes their pods.
 */
export class ScaleIn extends ValkeyResource {
  /** Time when nodes were last emptied, ISO 8601; undefined when never. */
  declare readonly emptiedAt: Output<string | undefined>;

  constructor(name: string, inputs: InputsOf<ScaleInInputs>, options: CustomResourceOptions = {}) {
    super("ScaleIn", name, { ...inputs, emptiedAt: undefined }, options);
  }
}
