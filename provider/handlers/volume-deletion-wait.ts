/** Waits until the volumes of a namespace are deleted. */
import { awaitVolumesGone } from "../../platforms/kubernetes/volumes/volume-deletion";
import { openForDeletion } from "../protocol/deletion";
import type { ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface VolumeDeletionWaitInputs {
  /** The text of a kubeconfig without secrets. */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Time limit for the volumes to be deleted, seconds. */
  readonly timeoutSeconds: number;
}

export const handler: ResourceHandler<VolumeDeletionWaitInputs, object> = {
  create: ({ namespace }) => Promise.resolve({ id: namespace, outputs: {} }),
  delete: async (_id, { kubeconfig, namespace, timeoutSeconds }, context) => {
    const kubernetes = await openForDeletion({ kubeconfig }, `volumes of namespace ${namespace}`, context);
    if (kubernetes === undefined) return;
    await awaitVolumesGone(kubernetes, namespace, waitOptions(namespace, timeoutSeconds, context));
  },
};
