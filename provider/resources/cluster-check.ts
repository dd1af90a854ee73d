/** Checks that an existing Kubernetes cluster can hold the stack. */
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { ValkeyResource } from "../custom-resource";
import type { ClusterCheckInputs } from "../handlers/cluster-check";

/**
 * Checked in previews where the cluster answers, and before anything is created. Checked again when an input changes.
 */
export class ClusterCheck extends ValkeyResource {
  constructor(name: string, inputs: ClusterCheckInputs, options: CustomResourceOptions = {}) {
    super("ClusterCheck", name, { ...inputs }, options);
  }
}
