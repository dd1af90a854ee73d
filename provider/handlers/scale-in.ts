import { form } from "../../valkey/formation/form";
import { boundClaims } from "../../platforms/kubernetes/volumes";
import { openKubernetesClient, openDeployment } from "../../platforms/deployment-reference";
import { nodeCount } from "../../valkey/topology/placement";
import type { ScaleInInputs, VolumeRequest } from "../resources/scale-in";
import type { ResourceHandler } from "../dynamic-resource";

const describe = ({ size, className }: VolumeRequest): string =>
  `${size} of ${className === undefined ? "the default class" : `class ${className}`}`;

/** What Kubernetes can only do by another StatefulSet: all pods would go at once, and their data with them. */
async function replacement(olds: ScaleInInputs, news: Partial<ScaleInInputs>): Promise<string[]> {
  const { target, storage } = news;
  const before = olds.target;
  if (before.platform !== "kubernetes" || target?.platform !== "kubernetes" || storage === undefined) return [];
  const changes = [
    ...(describe(storage) === describe(olds.storage)
      ? []
      : [`valkey:platform.storage: volumes of ${describe(olds.storage)} cannot become ${describe(storage)}`]),
    ...(target.namespace === before.namespace
      ? []
      : [`valkey:platform.namespace: ${before.name} cannot move from ${before.namespace} to ${target.namespace}`]),
  ];
  if (changes.length === 0) return [];
  const claims = await boundClaims(await openKubernetesClient(before), before.namespace, before.statefulSet);
  const [first] = claims;
  if (first === undefined) return [];
  const held = `the ${claims.length} volumes of ${before.name} (${first} …) hold its data, and new ones would begin without it`;
  return changes.map(
    (change) =>
      `${change}: ${held}; go back to what it was; for something else deploy a stack beside this one and move the data, or destroy this one first if the data may go`,
  );
}

const handler: ResourceHandler<ScaleInInputs, object> = {
  check: async (olds, news) => (olds === undefined ? [] : replacement(olds, news)),
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: {} }),
  update: async (_id, olds, { target, password, timeoutSeconds }) => {
    const before = nodeCount(olds.target.shape);
    const after = nodeCount(target.shape);
    if (target.mode !== "cluster" || after >= before) return {};
    // All that run now; the ones with the highest ordinals are the ones Kubernetes takes away.
    const deployment = await openDeployment(olds.target, password, timeoutSeconds);
    const leaving = deployment.nodes.slice(after);
    await form({ ...deployment, shape: target.shape, nodes: deployment.nodes.slice(0, after) }, target.shape, {
      leaving,
      timeoutMs: timeoutSeconds * 1000,
    });
    return {};
  },
};
export default handler;
