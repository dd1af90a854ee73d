import { awaitRollout } from "../../platforms/kubernetes/rollout";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { nodeCount } from "../../valkey/topology/placement";
import type { ResourceHandler } from "../dynamic-resource";
import type { RolloutInputs } from "../resources/rollout";

/** Handing over, ending, starting, catching up, being found ready. */
const SECONDS_PER_RESTART = 60;

async function rolledOut({ target }: RolloutInputs, timeoutSeconds: number): Promise<object> {
  const { namespace, statefulSet, container, shape } = target;
  await awaitRollout(
    await openKubernetesClient(target),
    { namespace, statefulSet, container, nodes: nodeCount(shape) },
    { timeoutMs: timeoutSeconds * 1000 },
  );
  return {};
}

const handler: ResourceHandler<RolloutInputs, object> = {
  create: async (inputs) => ({ id: inputs.target.name, outputs: await rolledOut(inputs, inputs.timeoutSeconds) }),
  update: (_id, _olds, news) =>
    rolledOut(news, news.timeoutSeconds + nodeCount(news.target.shape) * SECONDS_PER_RESTART),
};
export default handler;
