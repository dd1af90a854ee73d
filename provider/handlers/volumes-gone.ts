import { Kubernetes } from "../../platforms/kubernetes/access";
import { awaitVolumesGone } from "../../platforms/kubernetes/volumes";
import type { Handler } from "../dynamic-resource";
import type { VolumesGoneInputs } from "../resources/volumes-gone";

const handler: Handler<VolumesGoneInputs, object> = {
  create: ({ namespace }) => Promise.resolve({ id: namespace, outputs: {} }),
  delete: async (_id, { kubeconfig, namespace, timeoutSeconds }) => {
    await awaitVolumesGone(await Kubernetes.open({ kubeconfig }), namespace, timeoutSeconds * 1000);
  },
};
export default handler;
