/** Waits until the volumes of a namespace are deleted. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import type { InputsOf } from "../custom-resource";
import { ValkeyResource } from "../custom-resource";
import type { VolumeDeletionWaitInputs } from "../handlers/volume-deletion-wait";

/**
 * Declared between a Kubernetes cluster and the namespace. It waits when both are destroyed: a claim goes before its
 * volume, and the cluster runs the controller that deletes the volume.
 */
export class VolumeDeletionWait extends ValkeyResource {
  constructor(name: string, inputs: InputsOf<VolumeDeletionWaitInputs>, options: CustomResourceOptions = {}) {
    super("VolumeDeletionWait", name, { ...inputs }, options);
  }
}
