/**
 * In a ConfigMap, written before the first key, so that an interrupted restore can be told from other data. The service
 * account of the restore's pod owns it: Kubernetes removes both.
 */
import type { V1ConfigMap, V1OwnerReference } from "@kubernetes/client-node";
import { Failure } from "../../../lib/errors";
import type { KubernetesClient } from "../api/client";

const OURS = "valkey-measured";
const [SOURCE, RESULT] = ["source", "result.json"];

interface RestoredDeployment {
  readonly namespace: string;
  readonly name: string;
}

export interface RestoreRecord {
  /** Time at which the restore began, by the clock of the API server, milliseconds since the epoch. */
  readonly began: number;
  readonly source: string;
  readonly result: string | undefined;
}

const recordName = (deployment: string): string => `${deployment}-restored`;

const accountName = (deployment: string): string => `${deployment}-restore`;

export async function restoreOwner(
  kubernetes: KubernetesClient,
  deployment: RestoredDeployment,
): Promise<V1OwnerReference> {
  const { namespace, name } = deployment;
  const found = await findRestoreOwner(kubernetes, deployment);
  if (found === undefined)
    throw new Failure(`there is no ServiceAccount ${accountName(name)} in namespace ${namespace}`);
  return found;
}

export async function findRestoreOwner(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
): Promise<V1OwnerReference | undefined> {
  const account = accountName(name);
  const found = await kubernetes.find(
    `reading ServiceAccount ${account} of namespace ${namespace}`,
    kubernetes.core.readNamespacedServiceAccount({ namespace, name: account }),
  );
  const uid = found?.metadata?.uid;
  return uid === undefined ? undefined : { apiVersion: "v1", kind: "ServiceAccount", name: account, uid };
}

export async function readRestoreRecord(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
  owner: V1OwnerReference,
): Promise<RestoreRecord | undefined> {
  const found = await kubernetes.find(
    `reading ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.readNamespacedConfigMap({ namespace, name: recordName(name) }),
  );
  const isOwn = found?.metadata?.ownerReferences?.some(({ uid }) => uid === owner.uid) === true;
  return found !== undefined && isOwn ? recordOf(found) : undefined;
}

export async function beginRestoreRecord(
  kubernetes: KubernetesClient,
  deployment: RestoredDeployment,
  owner: V1OwnerReference,
  source: string,
): Promise<RestoreRecord> {
  await deleteRestoreRecord(kubernetes, deployment);
  return write(kubernetes, deployment, owner, { [SOURCE]: source });
}

export async function completeRestoreRecord(
  kubernetes: KubernetesClient,
  deployment: RestoredDeployment,
  owner: V1OwnerReference,
  { source, result }: { readonly source: string; readonly result: string },
): Promise<void> {
  await write(kubernetes, deployment, owner, { [SOURCE]: source, [RESULT]: result });
}

export async function deleteRestoreRecord(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
): Promise<void> {
  await kubernetes.find(
    `deleting ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedConfigMap({ namespace, name: recordName(name) }),
  );
}

async function write(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
  owner: V1OwnerReference,
  data: Readonly<Record<string, string>>,
): Promise<RestoreRecord> {
  const labels = { "app.kubernetes.io/name": "valkey-restore", "app.kubernetes.io/instance": name };
  const metadata = { name: recordName(name), namespace, labels, ownerReferences: [owner] };
  const written = await kubernetes.call(
    `writing ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.patchNamespacedConfigMap(
      {
        ...{ namespace, name: recordName(name), fieldManager: OURS, force: true },
        body: { apiVersion: "v1", kind: "ConfigMap", metadata, data },
      },
      kubernetes.serverSideApply,
    ),
  );
  return recordOf(written);
}

function recordOf({ metadata, data }: V1ConfigMap): RestoreRecord {
  const began = new Date(metadata?.creationTimestamp ?? 0).getTime();
  return { began, source: data?.[SOURCE] ?? "", result: data?.[RESULT] };
}
