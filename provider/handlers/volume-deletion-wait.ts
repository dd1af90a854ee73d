import { KubernetesClient } from "../../platforms/kubernetes/client";
import { awaitVolumesGone } from "../../platforms/kubernetes/volumes";
import type { ResourceHandler } from "../dynamic-resource";
import type { VolumeDeletionWaitInputs } from "../resources/volume-deletion-wait";

const handler: ResourceHandler<VolumeDeletionWaitInputs, object> = {
  create: ({ namespace }) => Promise.resolve({ id: namespace, outputs: {} }),
  delete: async (_id, { kubeconfig, namespace, timeoutSeconds }) => {
    await awaitVolumesGone(await KubernetesClient.open({ kubeconfig }), namespace, timeoutSeconds * 1000);
  },
};
export default handler;
