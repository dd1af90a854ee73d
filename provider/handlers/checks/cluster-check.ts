/** Checks that an existing Kubernetes cluster can hold a stack. */
import { BadInput } from "../../../lib/errors";
import { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { markNamespaceKept, readKubernetesFacts } from "../../../platforms/kubernetes/cluster/cluster-facts";
import type { KubernetesRequirements } from "../../../platforms/kubernetes/cluster/requirements";
import { unmetRequirements } from "../../../platforms/kubernetes/cluster/requirements";
import { openForDeletion } from "../../protocol/deletion";
import type { ResourceHandler } from "../../protocol/resource-handler";

export interface ClusterCheckInputs {
  /** Path. @default KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly needs: KubernetesRequirements;
  /** `PROJECT/STACK` */
  readonly stack: string;
  /** Whether the namespace outlives the stack, with the volumes in it. */
  readonly keepsNamespace: boolean;
}

/** Every problem begins with a key of the platform's section. */
const withPrefix = (problem: string): string => `valkey:platform.${problem}`;

const open = ({ kubeconfig, context }: ClusterCheckInputs): Promise<KubernetesClient> =>
  KubernetesClient.open({ kubeconfig, context });

/** @param olds undefined before the first update; afterwards the namespace is the stack's own */
async function clusterProblems(
  kubernetes: KubernetesClient,
  { needs, stack }: ClusterCheckInputs,
  olds: ClusterCheckInputs | undefined,
): Promise<string[]> {
  const facts = await readKubernetesFacts(kubernetes, needs.namespace);
  const ownsNamespace = olds?.needs.namespace === needs.namespace;
  return unmetRequirements(needs, ownsNamespace ? { ...facts, namespace: null } : facts, stack).map(withPrefix);
}

/** The same in a preview, which needs no cluster that answers. */
async function previewProblems(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<string[]> {
  try {
    return await clusterProblems(await open(inputs), inputs, olds);
  } catch (error) {
    return error instanceof BadInput ? [error.message] : [];
  }
}

/** @throws BadInput with every problem */
async function requireCluster(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<object> {
  const kubernetes = await open(inputs);
  const problems = await clusterProblems(kubernetes, inputs, olds);
  if (problems.length > 0) throw new BadInput(`the cluster of context ${kubernetes.context}`, problems);
  await markNamespaceKept(kubernetes, inputs.needs.namespace, undefined);
  return {};
}

export const handler: ResourceHandler<ClusterCheckInputs, object> = {
  // The program knows all of these inputs before any resource exists.
  check: async (olds, news) =>
    (await previewProblems(news as ClusterCheckInputs, olds)).map((reason) => ({ property: "", reason })),
  create: async (inputs) => ({ id: inputs.needs.namespace, outputs: await requireCluster(inputs, undefined) }),
  update: (_id, olds, news) => requireCluster(news, olds),
  // Deleted after every other resource of the stack: a namespace that is kept then holds nothing but volumes.
  delete: async (_id, olds, context) => {
    if (!olds.keepsNamespace) return;
    const { namespace } = olds.needs;
    const kubernetes = await openForDeletion(olds, `namespace ${namespace}`, context);
    if (kubernetes !== undefined) await markNamespaceKept(kubernetes, namespace, olds.stack);
  },
};
