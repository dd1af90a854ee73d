/** Checks whether a stack can run on an existing Kubernetes cluster. */
import { BadInput, problem } from "../../../lib/errors";
import { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { markNamespaceKept, readKubernetesFacts } from "../../../platforms/kubernetes/cluster/cluster-facts";
import type { KubernetesRequirements } from "../../../platforms/kubernetes/cluster/requirements";
import { unmetRequirements } from "../../../platforms/kubernetes/cluster/requirements";
import { openForDeletion } from "../../protocol/deletion";
import type { ResourceHandler } from "../../protocol/resource-handler";

export interface ClusterCheckInputs {
  /** Path of a kubeconfig. @default the path in KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly needs: KubernetesRequirements;
  /** Project and stack, `PROJECT/STACK`. */
  readonly stack: string;
  /** Whether the namespace is kept, together with its volumes, when the stack is destroyed. */
  readonly keepsNamespace: boolean;
}

/**
 * Prefixes a problem with its section. The text of every problem begins with the name of an option in the section
 * `platform`.
 */
const withPrefix = (problem: string): string => `valkey:platform.${problem}`;

const open = ({ kubeconfig, context }: ClusterCheckInputs): Promise<KubernetesClient> =>
  KubernetesClient.open({ kubeconfig, context });

/**
 * Problems with the cluster and the namespace.
 * @param olds inputs of the last update; undefined before the first update. After the first update the stack may own
 * the namespace
 */
async function clusterProblems(
  kubernetes: KubernetesClient,
  { needs, stack }: ClusterCheckInputs,
  olds: ClusterCheckInputs | undefined,
): Promise<string[]> {
  const { namespace, createsNamespace } = needs;
  const facts = await readKubernetesFacts(kubernetes, namespace);
  const isOwn = createsNamespace && owns(olds, namespace);
  return unmetRequirements(needs, isOwn ? { ...facts, namespace: null } : facts, stack).map(withPrefix);
}

const owns = (olds: ClusterCheckInputs | undefined, namespace: string): boolean =>
  olds?.needs.createsNamespace === true && olds.needs.namespace === namespace;

/**
 * Problem of a stack that no longer creates its namespace. Pulumi would delete the namespace, and then Kubernetes would
 * delete everything in it.
 */
function abandonedNamespace(
  olds: ClusterCheckInputs | undefined,
  { needs: { namespace, createsNamespace } }: ClusterCheckInputs,
): string[] {
  if (createsNamespace || !owns(olds, namespace)) return [];
  const problem = `this stack created the namespace ${namespace}. Without createNamespace: true, the update would delete this namespace with all data in it; set createNamespace: true`;
  return [withPrefix(`createNamespace: ${problem}`)];
}

/**
 * Problems that a preview finds. The list is empty if the Kubernetes cluster does not answer, because a preview must
 * work without a Kubernetes cluster.
 */
async function previewProblems(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<string[]> {
  try {
    return await clusterProblems(await open(inputs), inputs, olds);
  } catch (error) {
    return error instanceof BadInput ? [error.message] : [];
  }
}

/** Refuses a cluster or namespace that the stack cannot use. @throws BadInput with every problem */
async function requireCluster(inputs: ClusterCheckInputs, olds: ClusterCheckInputs | undefined): Promise<object> {
  const kubernetes = await open(inputs);
  const problems = await clusterProblems(kubernetes, inputs, olds);
  if (problems.length > 0) throw BadInput.of(`the cluster of context ${kubernetes.context}`, "unfit-cluster", problems);
  if (inputs.needs.createsNamespace) await markNamespaceKept(kubernetes, inputs.needs.namespace, undefined);
  return {};
}

export const handler: ResourceHandler<ClusterCheckInputs, object> = {
  // All inputs are known before any resource exists, so none is undefined here.
  check: async (olds, news) => {
    const inputs = news as ClusterCheckInputs;
    const problems = [...abandonedNamespace(olds, inputs), ...(await previewProblems(inputs, olds))];
    return problems.map((message) => problem("unfit-cluster", "", message));
  },
  create: async (inputs) => ({ id: inputs.needs.namespace, outputs: await requireCluster(inputs, undefined) }),
  update: (_id, olds, news) => requireCluster(news, olds),
  // This resource is deleted after all others of the stack. At that time a kept namespace contains only volumes.
  delete: async (_id, olds, context) => {
    if (!olds.keepsNamespace) return;
    const { namespace } = olds.needs;
    const kubernetes = await openForDeletion(olds, `namespace ${namespace}`, context);
    if (kubernetes !== undefined) await markNamespaceKept(kubernetes, namespace, olds.stack);
  },
};
