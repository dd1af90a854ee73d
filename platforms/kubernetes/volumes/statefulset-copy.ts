/** The copy exists from the deletion of the StatefulSet until it is recreated. */
import type { V1ConfigMap, V1StatefulSet } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import type { Plain } from "../api/plain";
import type { StatefulSetName } from "./statefulset-volumes";

/** The StatefulSet, and the name and operation of the field manager that may change it without a conflict. */
export const OBJECT = "statefulset.json";
export const MANAGER = "manager";
export const OPERATION = "operation";

export const copyName = (statefulSet: string): string => `${statefulSet}-volumes`;

export function findCopy(
  kubernetes: KubernetesClient,
  { namespace, statefulSet }: StatefulSetName,
): Promise<V1ConfigMap | undefined> {
  return kubernetes.find(
    `reading the copy of StatefulSet ${statefulSet} of namespace ${namespace}`,
    kubernetes.core.readNamespacedConfigMap({ namespace, name: copyName(statefulSet) }),
  );
}

export function copiedSet({ data }: V1ConfigMap): Plain<V1StatefulSet> {
  return JSON.parse(data?.[OBJECT] ?? "{}") as Plain<V1StatefulSet>;
}
