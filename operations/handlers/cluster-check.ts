import type { V1Node, V1ResourceAttributes, V1SelfSubjectAccessReview } from "@kubernetes/client-node";
import { BadInput, problem } from "../../lib/errors";
import { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type {
  KubernetesRequirements,
  KubernetesFacts,
  MachineSchedulingFacts,
} from "../../platforms/kubernetes/cluster/requirements";
import { unmetRequirements } from "../../platforms/kubernetes/cluster/requirements";
import { openForDeletion } from "../protocol/deletion";
import type { ResourceHandler } from "../protocol/resource-handler";
import { statusInError } from "../../platforms/kubernetes/api/api-errors";
import type { Plain } from "../../platforms/kubernetes/api/plain";
import { resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** Kept for its volumes after its stack, the value, was destroyed. */
const KEPT_BY = "valkey-measured/kept-by";

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

/** The text of every problem begins with the name of an option in the section `platform`. */
const withPrefix = (problem: string): string => `valkey:platform.${problem}`;

const open = ({ kubeconfig, context }: ClusterCheckInputs): Promise<KubernetesClient> =>
  KubernetesClient.open({ kubeconfig, context });

/** @param olds undefined before the first update, after which the stack may own the namespace */
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

/** Pulumi would delete the namespace, and then Kubernetes would delete everything in it. */
function abandonedNamespace(
  olds: ClusterCheckInputs | undefined,
  { needs: { namespace, createsNamespace } }: ClusterCheckInputs,
): string[] {
  if (createsNamespace || !owns(olds, namespace)) return [];
  const problem = `this stack created the namespace ${namespace}. Without createNamespace: true, the update would delete this namespace with all data in it; set createNamespace: true`;
  return [withPrefix(`createNamespace: ${problem}`)];
}

/** None if the cluster does not answer, because a preview must work without one. */
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

/** Undefined if the API server answers the request for a fact with an error. */
async function readKubernetesFacts(kubernetes: KubernetesClient, namespace: string): Promise<KubernetesFacts> {
  const { core, storage, context } = kubernetes;
  const [there, machines, classes, grows, mayForwardPorts, mayCreateClusterRoles] = await Promise.all([
    readable(core.readNamespace({ name: namespace })),
    readable(core.listNode()),
    readable(storage.listStorageClass()),
    autoscales(kubernetes),
    isAllowed(kubernetes, { namespace, verb: "create", resource: "pods", subresource: "portforward" }),
    isAllowed(kubernetes, { verb: "create", group: "rbac.authorization.k8s.io", resource: "clusterroles" }),
  ]);
  return {
    context,
    namespace: there && {
      state: there.metadata?.deletionTimestamp === undefined ? "lives" : "ends",
      keptBy: there.metadata?.annotations?.[KEPT_BY],
    },
    machines: machines?.items.map(machineOf),
    storageClasses: classes?.items.map((each) => ({
      name: resourceName(each),
      isDefault: each.metadata?.annotations?.[DEFAULT_CLASS] === "true",
    })),
    autoscales: grows,
    mayForwardPorts,
    mayCreateClusterRoles,
  };
}

function machineOf(machine: V1Node): MachineSchedulingFacts {
  const labels = machine.metadata?.labels ?? {};
  const taints = (machine.spec?.taints ?? [])
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .map(({ key, value, effect }) => ({ key, value, effect }));
  return {
    name: resourceName(machine),
    zone: labels[ZONE_LABEL],
    labels,
    taints,
    unschedulable: machine.spec?.unschedulable === true,
  };
}

/** Karpenter has a pool, or the cluster autoscaler runs. True if this program may not read these facts. */
async function autoscales({ core, custom }: KubernetesClient): Promise<boolean> {
  const [pools, status] = await Promise.all([
    readable(
      custom.listClusterCustomObject({ group: "karpenter.sh", version: "v1", plural: "nodepools" }) as Promise<{
        readonly items: readonly unknown[];
      }>,
    ),
    readable(core.readNamespacedConfigMap({ namespace: "kube-system", name: "cluster-autoscaler-status" })),
  ]);
  return (pools !== null && (pools?.items.length ?? 1) > 0) || status !== null;
}

/** Undefined if the API server does not say. */
async function isAllowed(
  { authorization }: KubernetesClient,
  resourceAttributes: Plain<V1ResourceAttributes>,
): Promise<boolean | undefined> {
  const body: Plain<V1SelfSubjectAccessReview> = { spec: { resourceAttributes } };
  return (await readable(authorization.createSelfSubjectAccessReview({ body })))?.status?.allowed;
}

/** Null if the object does not exist, undefined if the request fails for a different reason. */
async function readable<T>(answer: Promise<T>): Promise<T | null | undefined> {
  try {
    return await answer;
  } catch (error) {
    return statusInError(error)?.code === 404 ? null : undefined;
  }
}

/** Only this stack can use the namespace again. @param stack undefined removes the annotation */
async function markNamespaceKept(
  kubernetes: KubernetesClient,
  namespace: string,
  stack: string | undefined,
): Promise<void> {
  const body = await kubernetes.find(
    `reading namespace ${namespace}`,
    kubernetes.core.readNamespace({ name: namespace }),
  );
  if (body?.metadata === undefined || body.metadata.annotations?.[KEPT_BY] === stack) return;
  const others = Object.entries(body.metadata.annotations ?? {}).filter(([key]) => key !== KEPT_BY);
  body.metadata.annotations = { ...Object.fromEntries(others), ...(stack === undefined ? {} : { [KEPT_BY]: stack }) };
  await kubernetes.call(`marking namespace ${namespace}`, kubernetes.core.replaceNamespace({ name: namespace, body }));
}
