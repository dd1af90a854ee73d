/**
 * Reads facts about a Kubernetes cluster: its contents, and the rights of this program. A fact that this program may
 * not read is undefined, and does not count as a problem.
 */
import type { V1Node, V1ResourceAttributes, V1SelfSubjectAccessReview } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { statusInError } from "../api/api-errors";
import type { KubernetesFacts, MachineSchedulingFacts } from "./requirements";
import type { Plain } from "../api/plain";
import { resourceName } from "../api/pod-diagnostics";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/**
 * Annotation of a namespace that is kept for its volumes after its stack was destroyed. Its value is the name of the
 * stack.
 */
const KEPT_BY = "valkey-measured/kept-by";

/**
 * All facts that `unmetRequirements` judges. A fact is undefined if the API server answers the request for it with an
 * error.
 */
export async function readKubernetesFacts(kubernetes: KubernetesClient, namespace: string): Promise<KubernetesFacts> {
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

/**
 * Whether Karpenter has a pool or the cluster autoscaler runs. If this program may not read these facts, the result is
 * true.
 */
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

/** Whether this program may do what the attributes describe. Undefined if the API server does not say. */
async function isAllowed(
  { authorization }: KubernetesClient,
  resourceAttributes: Plain<V1ResourceAttributes>,
): Promise<boolean | undefined> {
  const body: Plain<V1SelfSubjectAccessReview> = { spec: { resourceAttributes } };
  return (await readable(authorization.createSelfSubjectAccessReview({ body })))?.status?.allowed;
}

/**
 * The answer to a request; null if the object does not exist, undefined if the request fails for a different reason.
 */
async function readable<T>(answer: Promise<T>): Promise<T | null | undefined> {
  try {
    return await answer;
  } catch (error) {
    return statusInError(error)?.code === 404 ? null : undefined;
  }
}

/**
 * Records in an annotation of a namespace which stack keeps the namespace for its volumes. Only this stack can use the
 * namespace again.
 * @param stack the stack; undefined removes the annotation
 */
export async function markNamespaceKept(
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
