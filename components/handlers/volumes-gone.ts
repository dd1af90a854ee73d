import { Kubernetes } from "../../benchmarks/kubernetes/access";
import { awaitVolumesGone } from "../../benchmarks/kubernetes/volumes";
import type { Handler } from "../handled";
import type { VolumesGoneInputs } from "../volumes-gone";

const handler: Handler<VolumesGoneInputs, object> = {
  create: ({ namespace }) => Promise.resolve({ id: namespace, outputs: {} }),
  delete: async (_id, { kubeconfig, namespace, timeoutSeconds }) => {
    await awaitVolumesGone(await Kubernetes.open({ kubeconfig }), namespace, timeoutSeconds * 1000);
  },
};
export default handler;
