/**
 * Its pods keep running. Kubernetes does not allow changes of the template of claims. A ConfigMap keeps a copy, so that
 * an interrupted change can be continued.
 */
import type { WaitOptions } from "../../../lib/progress";
import type { V1ConfigMap, V1ManagedFieldsEntry, V1StatefulSet } from "@kubernetes/client-node";
import { Failure } from "../../../lib/errors";
import { holdsInTime } from "../../../lib/polling";
import type { KubernetesClient } from "../api/client";
import type { Plain } from "../api/plain";
import { resourceName } from "../api/pod-diagnostics";
import { parseQuantity } from "../api/quantity";
import { copiedSet, copyName, findCopy, MANAGER, OBJECT, OPERATION } from "./statefulset-copy";
import type { StatefulSetVolumes, DesiredVolume } from "./statefulset-volumes";
import { claimsOfSet, findStatefulSet, isOrdinalOf, POLL_MS, requestedBytes } from "./statefulset-volumes";

const STATEFUL_SETS = { group: "apps", version: "v1", plural: "statefulsets" } as const;
const OURS = "valkey";

/**
 * Pods, claims and revisions stay, and no pod restarts. Does nothing if the template is as wanted, or without the set.
 * @throws Failure when the StatefulSet cannot be deleted or created
 */
export async function recreateStatefulSet(
  kubernetes: KubernetesClient,
  volumes: StatefulSetVolumes,
  wanted: DesiredVolume,
  options: WaitOptions,
): Promise<void> {
  const set = await findStatefulSet(kubernetes, volumes);
  if (set !== undefined && hasOtherTemplate(set, wanted)) await orphanStatefulSet(kubernetes, volumes, options);
  const copy = await findCopy(kubernetes, volumes);
  if (copy === undefined) return;
  const { namespace, statefulSet: name } = volumes;
  if ((await findStatefulSet(kubernetes, volumes)) === undefined) {
    const body = withVolumes(copy, wanted);
    const fieldManager = copy.data?.[MANAGER] ?? OURS;
    await kubernetes.call(
      `recreating StatefulSet ${name} of namespace ${namespace}`,
      // The StatefulSet is created with the operation (Apply or Update) that its owner used, so that the owner can
      // apply it later without a conflict.
      copy.data?.[OPERATION] === "Apply"
        ? kubernetes.apps.patchNamespacedStatefulSet(
            { namespace, name, body, fieldManager, force: true },
            kubernetes.serverSideApply,
          )
        : kubernetes.custom.createNamespacedCustomObject({ ...STATEFUL_SETS, namespace, body, fieldManager }),
    );
  }
  await deleteCopy(kubernetes, volumes);
}

/** Whether new pods of the StatefulSet would get volumes that differ from the desired volumes. */
function hasOtherTemplate(set: V1StatefulSet, { size, className }: DesiredVolume): boolean {
  return (set.spec?.volumeClaimTemplates ?? []).some(
    (claim) => requestedBytes(claim) !== parseQuantity(size) || claim.spec?.storageClassName !== className,
  );
}

export async function orphanStatefulSet(
  kubernetes: KubernetesClient,
  volumes: StatefulSetVolumes,
  { timeoutMs, signal }: WaitOptions,
): Promise<void> {
  const { namespace, statefulSet: name } = volumes;
  // The StatefulSet is read as plain JSON, because the client library's types drop fields that they do not know.
  const set = (await kubernetes.call(
    `reading StatefulSet ${name} of namespace ${namespace}`,
    kubernetes.custom.getNamespacedCustomObject({ ...STATEFUL_SETS, namespace, name }),
  )) as Plain<V1StatefulSet>;
  // The field manager that owns the template of pods stays the owner of that template, so it can change the template
  // without a conflict.
  const { manager = OURS, operation = "Update" } = set.metadata?.managedFields?.find(ownsTemplate) ?? {};
  const { labels, annotations } = set.metadata ?? {};
  const object = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name, namespace, labels, annotations } };
  const data = { [OBJECT]: JSON.stringify({ ...object, spec: set.spec }), [MANAGER]: manager, [OPERATION]: operation };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: copyName(name), namespace, labels }, data };
  await kubernetes.call(
    `keeping a copy of StatefulSet ${name} of namespace ${namespace}`,
    kubernetes.core.patchNamespacedConfigMap(
      { namespace, name: copyName(name), body, fieldManager: OURS, force: true },
      kubernetes.serverSideApply,
    ),
  );
  await kubernetes.find(
    `deleting StatefulSet ${name} of namespace ${namespace} without its pods`,
    kubernetes.apps.deleteNamespacedStatefulSet({ namespace, name, propagationPolicy: "Orphan" }),
  );
  const isGone = async (): Promise<boolean> => (await findStatefulSet(kubernetes, volumes)) === undefined;
  if (await holdsInTime(isGone, { timeoutMs, intervalMs: POLL_MS, signal })) return;
  throw new Failure(`StatefulSet ${name} of namespace ${namespace} is not deleted yet; the next update continues`);
}

function ownsTemplate({ fieldsV1, subresource }: Plain<V1ManagedFieldsEntry>): boolean {
  const { "f:spec": spec } = (fieldsV1 ?? {}) as { readonly "f:spec"?: object };
  return subresource === undefined && spec !== undefined && "f:template" in spec;
}

function withVolumes(copy: V1ConfigMap, { size, className }: DesiredVolume): object {
  const { spec, ...object } = copiedSet(copy);
  const volumeClaimTemplates = (spec?.volumeClaimTemplates ?? []).map((claim) => ({
    metadata: claim.metadata,
    spec: { ...claim.spec, storageClassName: className, resources: { requests: { storage: size } } },
  }));
  return { ...object, spec: { ...spec, volumeClaimTemplates } };
}

export async function deleteOrphans(
  kubernetes: KubernetesClient,
  volumes: StatefulSetVolumes,
  withClaims: boolean,
): Promise<void> {
  if ((await findCopy(kubernetes, volumes)) === undefined) return;
  const { namespace, statefulSet } = volumes;
  const { items } = await kubernetes.call(
    `reading the pods of namespace ${namespace}`,
    kubernetes.core.listNamespacedPod({ namespace }),
  );
  const pods = items.map(resourceName).filter((name) => isOrdinalOf(name, statefulSet));
  const claims = withClaims ? (await claimsOfSet(kubernetes, volumes)).map(resourceName) : [];
  await Promise.all([
    ...pods.map((name) =>
      kubernetes.find(
        `deleting pod ${name} of namespace ${namespace}`,
        kubernetes.core.deleteNamespacedPod({ namespace, name }),
      ),
    ),
    ...claims.map((name) =>
      kubernetes.find(
        `deleting volume claim ${name} of namespace ${namespace}`,
        kubernetes.core.deleteNamespacedPersistentVolumeClaim({ namespace, name }),
      ),
    ),
  ]);
  await deleteCopy(kubernetes, volumes);
}

async function deleteCopy(kubernetes: KubernetesClient, { namespace, statefulSet }: StatefulSetVolumes): Promise<void> {
  await kubernetes.find(
    `deleting the copy of StatefulSet ${statefulSet} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedConfigMap({ namespace, name: copyName(statefulSet) }),
  );
}
