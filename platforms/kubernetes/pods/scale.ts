/** Changes the number of a StatefulSet's pods. */
import type { WaitOptions } from "../../../lib/progress";
import { awaitCondition } from "../../../lib/polling";
import type { KubernetesClient } from "../api/client";
import type { StatefulSetName } from "../volumes/statefulset-volumes";
import { findStatefulSet, POLL_MS } from "../volumes/statefulset-volumes";

/**
 * Sets the number of pods. Then waits until all of them are ready and all other pods are gone. Does nothing if the
 * StatefulSet does not exist.
 * @throws Failure when this program has no permission to change the StatefulSet, or when the time limit has passed
 */
export async function scaleSet(
  kubernetes: KubernetesClient,
  set: StatefulSetName,
  replicas: number,
  { timeoutMs, signal }: WaitOptions,
): Promise<void> {
  const { namespace, statefulSet: name } = set;
  const found = await findStatefulSet(kubernetes, set);
  if (found === undefined) return;
  if (found.spec?.replicas !== replicas)
    await kubernetes.call(
      `scaling StatefulSet ${name} of namespace ${namespace}`,
      kubernetes.apps.patchNamespacedStatefulSet({
        ...{ namespace, name },
        body: [{ op: "replace", path: "/spec/replicas", value: replicas }],
      }),
    );
  const isScaled = async (): Promise<boolean> => {
    const { metadata, status } = (await findStatefulSet(kubernetes, set)) ?? {};
    if (metadata?.generation !== status?.observedGeneration) return false;
    return (status?.replicas ?? 0) <= replicas && (status?.readyReplicas ?? 0) >= replicas;
  };
  await awaitCondition(`${name} has ${replicas} pods and all are ready`, isScaled, {
    intervalMs: POLL_MS,
    timeoutMs,
    signal,
  });
}
