/** What a Kubernetes cluster has and allows, looked at once. What may not be read is not known, and nothing is held against it. */
import type { V1Node, V1SelfSubjectAccessReview } from "@kubernetes/client-node";
import type { Kubernetes } from "./access";
import { refusalIn } from "./api-errors";
import type { ClusterFacts, MachineFacts } from "./cluster-needs";
import type { Plain } from "./plain";
import { nameOf } from "./pod-troubles";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
/** On a namespace that outlives its stack, for the volumes in it: whose it was. */
const KEPT_BY = "valkey-measured/kept-by";

export async function lookAtCluster(kubernetes: Kubernetes, namespace: string): Promise<ClusterFacts> {
  const { core, storage, context } = kubernetes;
  const [there, machines, classes, grows, mayForward] = await Promise.all([
    readable(core.readNamespace({ name: namespace })),
    readable(core.listNode()),
    readable(storage.listStorageClass()),
    growsByItself(kubernetes),
    mayForwardPorts(kubernetes, namespace),
  ]);
  return {
    context,
    namespace: there && { state: there.metadata?.deletionTimestamp === undefined ? "lives" : "ends", keptBy: there.metadata?.annotations?.[KEPT_BY] },
    machines: machines?.items.map(machineOf),
    storageClasses: classes?.items.map((each) => ({ name: nameOf(each), isDefault: each.metadata?.annotations?.[DEFAULT_CLASS] === "true" })),
    grows,
    mayForward,
  };
}

function machineOf(machine: V1Node): MachineFacts {
  const labels = machine.metadata?.labels ?? {};
  const taints = (machine.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule").map(({ key, value, effect }) => ({ key, value, effect }));
  return { name: nameOf(machine), zone: labels[ZONE_LABEL], labels, taints, unschedulable: machine.spec?.unschedulable === true };
}

/** Karpenter with a pool to make machines for, or the cluster autoscaler; where that cannot be known, it may. */
async function growsByItself({ core, custom }: Kubernetes): Promise<boolean> {
  const [pools, status] = await Promise.all([
    readable(custom.listClusterCustomObject({ group: "karpenter.sh", version: "v1", plural: "nodepools" }) as Promise<{ readonly items: readonly unknown[] }>),
    readable(core.readNamespacedConfigMap({ namespace: "kube-system", name: "cluster-autoscaler-status" })),
  ]);
  return (pools !== null && (pools?.items.length ?? 1) > 0) || status !== null;
}

async function mayForwardPorts({ authorization }: Kubernetes, namespace: string): Promise<boolean | undefined> {
  const body: Plain<V1SelfSubjectAccessReview> = { spec: { resourceAttributes: { namespace, verb: "create", resource: "pods", subresource: "portforward" } } };
  return (await readable(authorization.createSelfSubjectAccessReview({ body })))?.status?.allowed;
}

/** Null where there is no such thing; undefined where nothing could be learnt. */
async function readable<T>(answer: Promise<T>): Promise<T | null | undefined> {
  try {
    return await answer;
  } catch (error) {
    return refusalIn(error)?.status === 404 ? null : undefined;
  }
}

/**
 * Says on a namespace which stack keeps it for its volumes, so that this stack alone may have it again.
 * @param stack undefined once it has
 */
export async function markKept(kubernetes: Kubernetes, namespace: string, stack: string | undefined): Promise<void> {
  const body = await kubernetes.find(`reading namespace ${namespace}`, kubernetes.core.readNamespace({ name: namespace }));
  if (body?.metadata === undefined || body.metadata.annotations?.[KEPT_BY] === stack) return;
  const others = Object.entries(body.metadata.annotations ?? {}).filter(([key]) => key !== KEPT_BY);
  body.metadata.annotations = { ...Object.fromEntries(others), ...(stack === undefined ? {} : { [KEPT_BY]: stack }) };
  await kubernetes.call(`marking namespace ${namespace}`, kubernetes.core.replaceNamespace({ name: namespace, body }));
}
