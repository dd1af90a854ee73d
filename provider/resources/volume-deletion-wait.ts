/**
 * Stands between a Kubernetes cluster and what has volumes in it: when both are destroyed, it waits until the volumes of a
 * namespace are deleted. A claim that is gone does not mean that its volume is, and with the cluster goes who deletes it.
 */
import * as pulumi from "@pulumi/pulumi";
import { dynamicResource } from "../dynamic-resource";

export interface VolumeDeletionWaitInputs {
  /** Text, with nothing secret in it. */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** How long they may take. */
  readonly timeoutSeconds: number;
}

export class VolumeDeletionWait extends pulumi.dynamic.Resource {
  constructor(
    name: string,
    args: { readonly [K in keyof VolumeDeletionWaitInputs]: pulumi.Input<VolumeDeletionWaitInputs[K]> },
    options: pulumi.CustomResourceOptions = {},
  ) {
    super(dynamicResource("volume-deletion-wait"), name, { ...args }, options, "valkey", "VolumesGone");
  }
}
