/** The volumes of running servers. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { VolumesInputs } from "../handlers/volumes";

/**
 * Updated before the servers: volumes grow, and the StatefulSet, which cannot be told, is made again around its pods. A
 * change that would lose data is refused, in previews too.
 */
export class Volumes extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<VolumesInputs>, options: CustomResourceOptions = {}) {
    super("Volumes", name, { ...inputs }, options);
  }
}
