import { BadInput } from "../../lib/errors";
import { KubernetesClient } from "../../platforms/kubernetes/client";
import { readKubernetesFacts, markNamespaceKept } from "../../platforms/kubernetes/facts";
import { unmetRequirements } from "../../platforms/kubernetes/requirements";
import type { ClusterCheckInputs } from "../resources/cluster-check";
import { chartProblems } from "../../platforms/kubernetes/chart-check";
import type { ResourceHandler } from "../dynamic-resource";

/** Each begins with the key that it is about. */
const label = (problem: string): string => `valkey:platform.${problem}`;

/** @param olds undefined before the first time: from then on the namespace is the stack's own */
async function problemsOf(
  kubernetes: KubernetesClient,
  { needs, stack }: ClusterCheckInputs,
  olds: ClusterCheckInputs | undefined,
): Promise<string[]> {
  const facts = await readKubernetesFacts(kubernetes, needs.namespace);
  const isOwn = olds?.needs.namespace === needs.namespace;
  return unmetRequirements(needs, isOwn ? { ...facts, namespace: null } : facts, stack).map(label);
}

const kubernetesOf = ({ kubeconfig, context }: ClusterCheckInputs): Promise<KubernetesClient> =>
  KubernetesClient.open({ kubeconfig, context });

async function seenBefore(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<string[]> {
  try {
    return await problemsOf(await kubernetesOf(inputs), inputs, olds);
  } catch (error) {
    // A preview needs no cluster that answers.
    return error instanceof BadInput ? [error.message] : [];
  }
}

async function insist(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<object> {
  const kubernetes = await kubernetesOf(inputs);
  const problems = await problemsOf(kubernetes, inputs, olds);
  if (problems.length > 0) throw new BadInput(`the cluster of context ${kubernetes.context}`, problems);
  await markNamespaceKept(kubernetes, inputs.needs.namespace, undefined);
  return {};
}

const handler: ResourceHandler<ClusterCheckInputs, object> = {
  check: async (olds, news) => {
    const inputs = news as ClusterCheckInputs;
    const [ofChart, ofCluster] = await Promise.all([
      inputs.chart === undefined ? [] : chartProblems(inputs.chart),
      seenBefore(inputs, olds),
    ]);
    return [...ofCluster, ...ofChart.map(label)];
  },
  create: async (inputs) => ({ id: inputs.needs.namespace, outputs: await insist(inputs, undefined) }),
  update: (_id, olds, news) => insist(news, olds),
  // The last of the stack's resources to go: by then nothing is in a namespace that is kept but the volumes.
  delete: async (_id, olds) => {
    if (olds.keepsNamespace) await markNamespaceKept(await kubernetesOf(olds), olds.needs.namespace, olds.stack);
  },
};
export default handler;
