/** What has to happen before the pods of a deployment change. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { ScaleInInputs } from "../handlers/scale-in";

/**
 * Updated before the servers. A smaller shape is carried out here, while all nodes run: the leaving nodes lose their
 * slots before Kubernetes deletes their pods.
 */
export class ScaleIn extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<ScaleInInputs>, options: CustomResourceOptions = {}) {
    super("ScaleIn", name, { ...inputs }, options);
  }
}
