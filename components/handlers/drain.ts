import { form } from "../../benchmarks/formation/form";
import { openTarget } from "../../benchmarks/target";
import { nodeCount } from "../../benchmarks/topology/placement";
import type { DrainInputs } from "../drain";
import type { Handler } from "../handled";

const handler: Handler<DrainInputs, object> = {
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, { target, password, timeoutSeconds }) => {
    const before = nodeCount(olds.target.shape);
    const after = nodeCount(target.shape);
    if (target.mode !== "cluster" || after >= before) return {};
    // All that run now; the ones with the highest ordinals are the ones Kubernetes takes away.
    const deployment = await openTarget(olds.target, password, timeoutSeconds);
    const leaving = deployment.nodes.slice(after);
    await form({ ...deployment, shape: target.shape, nodes: deployment.nodes.slice(0, after) }, target.shape, { leaving, timeoutMs: timeoutSeconds * 1000 });
    return {};
  },
};
export default handler;
