/**
 * The record of a restore into a new deployment, in a ConfigMap. It is written before the first key, so that an update
 * that was interrupted can be told from a deployment that has other data.
 */
import type { KubernetesClient } from "../api/client";

/** Field manager of the ConfigMap. */
const OURS = "valkey-measured";
const [BEGAN, RESULT] = ["began", "result.json"];

/** Namespace and name of the deployment. */
export interface RestoredDeployment {
  readonly namespace: string;
  readonly name: string;
}

export interface RestoreRecord {
  /** Time at which the restore began, milliseconds since the epoch. */
  readonly began: number;
  /** Text of the result. Undefined while the restore is not complete. */
  readonly result: string | undefined;
}

const recordName = (deployment: string): string => `${deployment}-restored`;

/** Reads the record. @returns undefined if no restore has begun */
export async function readRestoreRecord(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
): Promise<RestoreRecord | undefined> {
  const found = await kubernetes.find(
    `reading ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.readNamespacedConfigMap({ namespace, name: recordName(name) }),
  );
  const began = found?.data?.[BEGAN];
  return began === undefined ? undefined : { began: Number(began), result: found?.data?.[RESULT] };
}

/** Writes the record. */
export async function writeRestoreRecord(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
  { began, result }: RestoreRecord,
): Promise<void> {
  const labels = { "app.kubernetes.io/name": "valkey-restore", "app.kubernetes.io/instance": name };
  const data = { [BEGAN]: String(began), ...(result === undefined ? {} : { [RESULT]: result }) };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: recordName(name), namespace, labels }, data };
  await kubernetes.call(
    `writing ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.patchNamespacedConfigMap(
      { namespace, name: recordName(name), body, fieldManager: OURS, force: true },
      kubernetes.serverSideApply,
    ),
  );
}

/** Deletes the record. Does nothing if there is none. */
export async function deleteRestoreRecord(
  kubernetes: KubernetesClient,
  { namespace, name }: RestoredDeployment,
): Promise<void> {
  await kubernetes.find(
    `deleting ConfigMap ${recordName(name)} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedConfigMap({ namespace, name: recordName(name) }),
  );
}
