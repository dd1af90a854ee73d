/** Pods that end together and do not come back until they may. */
import { type DeployedPods, podLabels } from "./deployed-pods";
import type { KubernetesObject } from "./kubernetes-objects";

function quota(namespace: string): KubernetesObject {
  const metadata = { name: "no-pods", namespace };
  return { apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard: { pods: "0" } } };
}

export async function losePods(pods: DeployedPods, names: readonly string[]): Promise<void> {
  const { here } = pods;
  await here.apply([quota(here.namespace)]);
  const { injector } = await pods.subject();
  await injector.kill(names);
}

export async function giveBackPods({ here, target: { name } }: DeployedPods, count: number): Promise<void> {
  const { namespace } = here;
  await here.delete(quota(namespace));
  let round = 0;
  await here.until(60, async () => {
    // After refusals, the StatefulSet's controller waits ever longer, unless the StatefulSet changes.
    const body = [{ op: "add", path: "/metadata/labels/round", value: String(round++) }];
    await here.apps.patchNamespacedStatefulSet({ namespace, name, body });
    return (await here.pods(podLabels(name))).length === count ? undefined : "pods are missing";
  });
  await here.untilReady(podLabels(name), count, 180);
}
